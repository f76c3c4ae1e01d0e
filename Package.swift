// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "nightjar",
    products: [
        .library(name: "Nightjar", targets: ["Nightjar"]),
        .executable(name: "nightjar", targets: ["NightjarCommand"]),
        // Never run: scripts/build-library relinks its object files into libnightjar.so (DESIGN section 2).
        .executable(name: "nightjar-link", targets: ["NightjarLink"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // The C ABI, the source of truth: the compiler checks every export against it.
        .systemLibrary(name: "CNightjar", path: "include"),
        // The few system headers that Swift's Glibc module leaves out.
        .systemLibrary(name: "CLinux", path: "Sources/CLinux"),
        // Lua 5.4 and each call into it that may raise or yield.
        .target(name: "CLua", dependencies: ["CSimdjson"], linkerSettings: [.linkedLibrary("lua5.4")]),
        // simdjson behind plain C.
        .target(name: "CSimdjson", linkerSettings: [.linkedLibrary("simdjson")]),

        .target(
            name: "NightjarHTTP",
            dependencies: [
                "CSimdjson",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .target(
            name: "NightjarTransport",
            dependencies: [
                "CLinux", "NightjarHTTP",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .target(
            name: "Nightjar",
            dependencies: [
                "CLinux", "NightjarHTTP", "NightjarTransport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .target(name: "NightjarLua", dependencies: ["Nightjar", "CLua", "CSimdjson"]),
        .target(name: "NightjarABI", dependencies: ["CNightjar", "Nightjar", "NightjarLua"]),
        .target(
            name: "NightjarDemo",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
            ]
        ),
        .executableTarget(
            name: "NightjarCommand",
            dependencies: [
                "NightjarLua", "NightjarDemo",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .executableTarget(name: "NightjarLink", dependencies: ["NightjarABI"]),

        .testTarget(
            name: "NightjarHTTPTests",
            dependencies: [
                "NightjarHTTP",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]
        ),
        .testTarget(name: "NightjarTransportTests", dependencies: ["NightjarTransport"]),
        .testTarget(name: "NightjarTests", dependencies: ["Nightjar"]),
    ],
    swiftLanguageModes: [.v6]
)

// What measures and fuzzes the library, outside of every ordinary build: scripts/fuzz and scripts/measure-codec ask for it.
if Context.environment["NIGHTJAR_FUZZ"] != nil {
    // libFuzzer brings main.
    let fuzzing: [SwiftSetting] = [.unsafeFlags(["-parse-as-library"])]
    package.targets += [
        .executableTarget(
            name: "FuzzDecoder",
            dependencies: ["NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Decoder", swiftSettings: fuzzing),
        .executableTarget(
            name: "FuzzURL", dependencies: ["NightjarHTTP"], path: "Tests/Fuzz/URL", swiftSettings: fuzzing),
    ]
}
if Context.environment["NIGHTJAR_MEASURE"] != nil {
    package.targets += [
        .target(name: "CAllocationCount", path: "Tests/Measure/CAllocationCount"),
        .executableTarget(
            name: "MeasureCodec",
            dependencies: [
                "CAllocationCount", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Measure/Codec"),
    ]
}
