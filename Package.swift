// swift-tools-version: 6.1
import PackageDescription

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

// simdjson's .pc file has a flag (-D) that SwiftPM drops with a warning in each build. The file is therefore named only
// if the header is missing, so that SwiftPM reports the missing package.
let simdjson = access("/usr/include/simdjson.h", R_OK) == 0 ? nil : "simdjson"

let package = Package(
    name: "nightjar",
    // For the client: Nightjar and the targets below it, NightjarTesting, NightjarFoundation and NightjarObservability. They
    // have not been built on macOS yet. The other targets need Linux.
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Nightjar", targets: ["Nightjar"]),
        // Test doubles for Swift programs: mocks, cassettes, throttled networks.
        .library(name: "NightjarTesting", targets: ["NightjarTesting"]),
        // Lua scripts in Swift programs.
        .library(name: "NightjarLua", targets: ["NightjarLua"]),
        // Foundation's Date, Data, URL and UUID, for Swift programs. Not part of libnightjar.
        .library(name: "NightjarFoundation", targets: ["NightjarFoundation"]),
        // swift-log, swift-metrics and swift-distributed-tracing. Not part of libnightjar. Empty without the traits.
        .library(name: "NightjarObservability", targets: ["NightjarObservability"]),
        .executable(name: "nightjar", targets: ["NightjarCommand"]),
        // Never run: scripts/build-library relinks its object files into libnightjar.so.
        .executable(name: "nightjar-link", targets: ["NightjarLink"]),
    ],
    // SwiftPM fetches and builds the package of a trait only if a program enables the trait.
    traits: [
        .trait(name: "LoggingSupport", description: "Sends log lines to swift-log."),
        .trait(name: "MetricsSupport", description: "Records metrics with swift-metrics."),
        .trait(name: "TracingSupport", description: "Creates spans with swift-distributed-tracing."),
    ],
    // Only patch releases are taken automatically: other releases of the TLS library and the event loop are reviewed
    // first.
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.2")),
        .package(url: "https://github.com/apple/swift-nio-ssl", .upToNextMinor(from: "2.37.6")),
        .package(url: "https://github.com/apple/swift-collections", .upToNextMinor(from: "1.6.0")),
        // Only for the demo server and the tests, as an implementation of HTTP/2 that is independent of the client.
        .package(url: "https://github.com/apple/swift-nio-http2", .upToNextMinor(from: "1.46.0")),
        // Only with the traits. Programs choose the releases, because their other packages use the same ones.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        // The C header. The compiler checks every export against it.
        .systemLibrary(name: "CNightjar", path: "include"),
        // An allocation check that Swift cannot express.
        .systemLibrary(name: "CMemory", path: "Sources/CMemory"),
        // Debian's zlib, brotli and zstd. With `pkgConfig` and `providers`, SwiftPM names all missing packages at once.
        // scripts/setup installs the same packages.
        .systemLibrary(
            name: "CZlib", path: "Sources/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CBrotli", path: "Sources/CBrotli", pkgConfig: "libbrotlidec",
            providers: [.apt(["libbrotli-dev"]), .brew(["brotli"])]),
        .systemLibrary(
            name: "CZstd", path: "Sources/CZstd", pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
        // Debian's libpsl: public suffixes.
        .systemLibrary(
            name: "CPSL", path: "Sources/CPSL", pkgConfig: "libpsl",
            providers: [.apt(["libpsl-dev"]), .brew(["libpsl"])]),
        // Debian's libidn2: host names with non-ASCII characters.
        .systemLibrary(
            name: "CIDN2", path: "Sources/CIDN2", pkgConfig: "libidn2",
            providers: [.apt(["libidn2-dev"]), .brew(["libidn2"])]),
        // Debian's PCRE2: patterns of JSON Schema, with limits on the cost of a match.
        .systemLibrary(
            name: "CPCRE2", path: "Sources/CPCRE2", pkgConfig: "libpcre2-8",
            providers: [.apt(["libpcre2-dev"]), .brew(["pcre2"])]),
        // Debian's libyaml: OpenAPI documents in YAML.
        .systemLibrary(
            name: "CYaml", path: "Sources/CYaml", pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
        // Debian's SQLite.
        .systemLibrary(
            name: "CSQLite", path: "Sources/CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        // Debian's Lua, libedit and simdjson. Only C and C++ targets use them.
        .systemLibrary(
            name: "CLuaLibrary", path: "Sources/CLuaLibrary", pkgConfig: "lua5.4",
            providers: [.apt(["liblua5.4-dev"])]),
        .systemLibrary(
            name: "CEditLibrary", path: "Sources/CEditLibrary", pkgConfig: "libedit",
            providers: [.apt(["libedit-dev"])]),
        .systemLibrary(
            name: "CSimdjsonLibrary", path: "Sources/CSimdjsonLibrary", pkgConfig: simdjson,
            providers: [.apt(["libsimdjson-dev"]), .brew(["simdjson"])]),
        // The desktop's Secret Service, by a library that is loaded at run time when it is needed.
        .target(name: "CSecret", dependencies: ["CPlatform"]),
        // HTTP/2 on memory buffers, by libnghttp2, which is loaded at run time when it is needed. Debian's libnghttp2-dev has
        // the header.
        .target(name: "CHTTP2", dependencies: ["CPlatform"]),
        // The Lua host: all calls of Lua functions that may raise or yield.
        .target(
            name: "CLua", dependencies: ["CDescriptors", "CLuaLibrary", "CSimdjson"], exclude: ["modules/lua"],
            cSettings: [.headerSearchPath(".")], linkerSettings: [.linkedLibrary("lua5.4")]),
        // The parts of the command that are written in Lua, and the line editor of the prompt.
        .target(
            name: "CCommand", dependencies: ["CEditLibrary", "CLua", "CLuaLibrary", "CPlatform"], exclude: ["programs"],
            linkerSettings: [.linkedLibrary("edit"), .linkedLibrary("lua5.4")]),
        // C functions for simdjson.
        .target(
            name: "CSimdjson", dependencies: ["CSimdjsonLibrary"], linkerSettings: [.linkedLibrary("simdjson")]),

        // The C library of the system.
        .target(name: "NightjarSystem"),
        // System calls that differ between Linux and macOS, or that Swift cannot call.
        .target(name: "CPlatform"),
        // Errors, texts, timestamps and memory.
        .target(
            name: "NightjarBase",
            dependencies: ["CMemory", "NightjarSystem", .product(name: "NIOCore", package: "swift-nio")]),
        // JSON: values, pointers, schemas, Codable.
        .target(
            name: "NightjarJSON",
            dependencies: ["CPCRE2", "CSimdjson", "NightjarBase", .product(name: "NIOCore", package: "swift-nio")]),
        // The rules of HTTP, without I/O.
        .target(
            name: "NightjarHTTP",
            dependencies: [
                "CIDN2", "NightjarBase", "NightjarJSON", "NightjarSystem",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        // Test doubles: mocks, cassettes, throttled networks.
        .target(
            name: "NightjarTesting",
            dependencies: ["NightjarHTTP", "NightjarSystem", .product(name: "NIOCore", package: "swift-nio")]),
        .target(
            name: "NightjarFoundation", dependencies: ["NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")]),
        // Descriptions of APIs: endpoints, catalogs, OpenAPI, pagination.
        .target(
            name: "NightjarAPI",
            dependencies: [
                "CSimdjson", "CYaml", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        .target(
            name: "NightjarCoding",
            dependencies: [
                "CZlib", "CBrotli", "CZstd", "NightjarHTTP",
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        // Uses the BoringSSL module of swift-nio-ssl. BoringSSL is not a product, so the target depends on NIOSSL.
        .target(
            name: "NightjarCrypto",
            dependencies: ["NightjarSystem", .product(name: "NIOSSL", package: "swift-nio-ssl")]),
        .target(
            name: "NightjarStorage",
            dependencies: [
                "CLocalSocket", "CPlatform", "CSecret", "CSQLite", "NightjarCrypto", "NightjarHTTP", "NightjarSystem",
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        .target(name: "CLocalSocket"),
        // System calls of SwiftNIO, wrapped by the link step of libnightjar.
        .target(name: "CDescriptors"),
        // The state of the network: netlink, clocks, and NetworkManager or the desktop portal by a library that is
        // loaded at run time.
        .target(name: "CNetworkState", dependencies: ["CPlatform"]),
        .target(
            name: "NightjarTransport",
            dependencies: [
                "CDescriptors", "CHTTP2", "CNetworkState", "CPlatform", "NightjarCrypto", "NightjarHTTP",
                "NightjarSystem",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .target(
            name: "Nightjar",
            dependencies: [
                "CPlatform", "CPSL", "NightjarAPI", "NightjarCoding", "NightjarCrypto", "NightjarHTTP",
                "NightjarStorage",
                "NightjarSystem", "NightjarTesting", "NightjarTransport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        // Adapters for swift-log, swift-metrics and swift-distributed-tracing. Each file is compiled with its trait.
        .target(
            name: "NightjarObservability",
            dependencies: [
                "Nightjar", "NightjarHTTP",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["LoggingSupport"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["MetricsSupport"])),
                .product(
                    name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["TracingSupport"])),
            ]
        ),
        .target(
            name: "NightjarLua",
            dependencies: [
                "Nightjar", "NightjarAPI", "NightjarCrypto", "NightjarHandles", "NightjarHTTP", "NightjarSystem",
                "NightjarTesting", "NightjarTransport", "CLua", "CPlatform", "CSimdjson",
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        // Handles that NightjarABI and NightjarLua share.
        .target(name: "NightjarHandles"),
        .target(
            name: "NightjarABI",
            dependencies: [
                "CNightjar", "Nightjar", "NightjarAPI", "NightjarCrypto", "NightjarHandles", "NightjarHTTP",
                "NightjarLua", "NightjarSystem", "NightjarTesting", "NightjarTransport",
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        .target(
            name: "NightjarDemo",
            dependencies: [
                "CSimdjson", "CZlib", "CBrotli", "CZstd", "NightjarCrypto", "NightjarSystem",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            linkerSettings: [.linkedLibrary("brotlienc")]
        ),
        // The worker of background transfers.
        .target(
            name: "NightjarDaemon",
            dependencies: [
                "CPlatform", "Nightjar", "NightjarCrypto", "NightjarHTTP", "NightjarStorage", "NightjarSystem",
            ]),
        .executableTarget(
            name: "NightjarCommand",
            dependencies: [
                "CCommand", "Nightjar", "NightjarDaemon", "NightjarDemo", "NightjarHTTP", "NightjarLua",
                "NightjarStorage", "NightjarSystem", "NightjarTransport",
            ]
        ),
        .executableTarget(name: "NightjarLink", dependencies: ["NightjarABI"]),

        .testTarget(
            name: "NightjarBaseTests",
            dependencies: ["NightjarBase", "NightjarTestSupport", .product(name: "NIOCore", package: "swift-nio")]),
        .testTarget(
            name: "NightjarJSONTests",
            dependencies: ["NightjarJSON", "NightjarTestSupport", .product(name: "NIOCore", package: "swift-nio")]),
        .testTarget(
            name: "NightjarHTTPTests",
            dependencies: [
                "NightjarCoding", "NightjarHTTP", "NightjarTestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "NightjarAPITests",
            dependencies: [
                "NightjarAPI", "NightjarHTTP", "NightjarTestSupport", .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .testTarget(
            name: "NightjarTestingTests",
            dependencies: [
                "NightjarHTTP", "NightjarTesting", "NightjarTestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .testTarget(
            name: "NightjarFoundationTests",
            dependencies: ["NightjarFoundation", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")]),
        .testTarget(
            name: "NightjarCodingTests",
            dependencies: [
                "NightjarCoding", "NightjarTestSupport", "CZlib", "CBrotli", "CZstd",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            linkerSettings: [.linkedLibrary("brotlienc")]
        ),
        .testTarget(
            name: "NightjarStorageTests",
            dependencies: [
                "CPlatform", "NightjarHTTP", "NightjarStorage", "NightjarTestSupport", "CacheWorker", "JournalWorker",
                "TokenStoreWorker",
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        // Uses a token store in a loop. Tests kill it at random times.
        .executableTarget(
            name: "TokenStoreWorker", dependencies: ["NightjarHTTP", "NightjarStorage"], path: "Tests/TokenStoreWorker"),
        // Uses the folder of a cache in a loop. Tests kill it at random times.
        .executableTarget(
            name: "CacheWorker",
            dependencies: ["NightjarHTTP", "NightjarStorage", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/CacheWorker"),
        // Uses a journal. Tests kill it at random times, and at each file operation.
        .executableTarget(
            name: "JournalWorker", dependencies: ["NightjarHTTP", "NightjarStorage"], path: "Tests/JournalWorker"),
        .testTarget(name: "NightjarCryptoTests", dependencies: ["NightjarCrypto", "NightjarTestSupport"]),
        .testTarget(
            name: "NightjarTransportTests",
            dependencies: [
                "NightjarCrypto", "NightjarHTTP", "NightjarTestSupport", "NightjarTransport",
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ]),
        .testTarget(
            name: "NightjarTests",
            dependencies: [
                "Nightjar", "NightjarAPI", "NightjarCrypto", "NightjarHTTP", "NightjarStorage", "NightjarTesting",
                "NightjarTestSupport", "NightjarTransport",
            ]),
        .testTarget(
            name: "LoopbackTests",
            dependencies: [
                "Nightjar", "NightjarAPI", "NightjarCrypto", "NightjarDaemon", "NightjarDemo", "NightjarHTTP",
                "NightjarStorage",
                "NightjarTestSupport", "NightjarTransport",
            ]),
        // Functions that start child processes of the tests.
        .systemLibrary(name: "CSpawn", path: "Tests/CSpawn"),
        // The hostile peer, certificates and waiting functions of the tests.
        .target(
            name: "NightjarTestSupport",
            dependencies: [
                "CSpawn",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
            ],
            path: "Tests/Support"
        ),
        .testTarget(name: "NightjarTestSupportTests", dependencies: ["NightjarTestSupport"]),
        .testTarget(
            name: "NightjarLuaTests",
            dependencies: [
                "NightjarLua", "NightjarHandles", "NightjarDemo", "NightjarHTTP", "NightjarTesting",
                "NightjarTestSupport",
            ]),
        .testTarget(name: "NightjarDemoTests", dependencies: ["NightjarDemo", "NightjarTestSupport"]),
        .testTarget(
            name: "WireTests",
            dependencies: ["Nightjar", "NightjarLua", "NightjarTestSupport", "NightjarTransport"], path: "Tests/Wire",
            exclude: ["exchanges"]),
    ],
    swiftLanguageModes: [.v6]
)

// Targets that fuzz and measure the library. Only scripts/fuzz and scripts/measure-* build them.
if Context.environment["NIGHTJAR_FUZZ"] != nil {
    // The C code that reads frames has coverage and the sanitizer, as the Swift code.
    for target in package.targets where target.name == "CHTTP2" {
        target.cSettings = [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])]
    }
    package.targets += [
        .target(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer"),
        .executableTarget(
            name: "FuzzDecoder",
            dependencies: ["CLibFuzzer", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Decoder"),
        .executableTarget(
            name: "FuzzCoding",
            dependencies: ["CLibFuzzer", "NightjarCoding", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Coding"),
        .executableTarget(name: "FuzzURL", dependencies: ["CLibFuzzer", "NightjarHTTP"], path: "Tests/Fuzz/URL"),
        .executableTarget(
            name: "FuzzSetCookie", dependencies: ["CLibFuzzer", "NightjarHTTP"], path: "Tests/Fuzz/SetCookie"),
        .executableTarget(
            name: "FuzzRedirect",
            dependencies: ["CLibFuzzer", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Redirect"),
        .executableTarget(
            name: "FuzzProxy",
            dependencies: ["CLibFuzzer", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Proxy"),
        .executableTarget(
            name: "FuzzAuth",
            dependencies: ["CLibFuzzer", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Auth"),
        .executableTarget(
            name: "FuzzCaching", dependencies: ["CLibFuzzer", "NightjarHTTP"], path: "Tests/Fuzz/Caching"),
        .executableTarget(name: "FuzzSchema", dependencies: ["CLibFuzzer", "NightjarHTTP"], path: "Tests/Fuzz/Schema"),
        .executableTarget(
            name: "FuzzPages",
            dependencies: ["CLibFuzzer", "NightjarAPI", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Pages"),
        .executableTarget(
            name: "FuzzOpenAPI", dependencies: ["CLibFuzzer", "NightjarAPI", "NightjarHTTP"],
            path: "Tests/Fuzz/OpenAPI"),
        .executableTarget(
            name: "FuzzEndpoints",
            dependencies: ["CLibFuzzer", "NightjarAPI", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Endpoints"),
        .executableTarget(
            name: "FuzzGraphQL",
            dependencies: ["CLibFuzzer", "NightjarAPI", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/GraphQL"),
        .executableTarget(
            name: "FuzzRedaction",
            dependencies: [
                "CLibFuzzer", "NightjarHTTP", "NightjarTesting", .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Fuzz/Redaction"),
        .executableTarget(
            name: "FuzzCassette",
            dependencies: [
                "CLibFuzzer", "NightjarHTTP", "NightjarTesting", .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Fuzz/Cassette"),
        .executableTarget(
            name: "FuzzCertificates", dependencies: ["CLibFuzzer", "NightjarBase", "NightjarCrypto"],
            path: "Tests/Fuzz/Certificates"),
        .executableTarget(
            name: "FuzzNetlink", dependencies: ["CLibFuzzer", "NightjarHTTP", "NightjarTransport"],
            path: "Tests/Fuzz/Netlink"),
        .executableTarget(
            name: "FuzzWebSocket",
            dependencies: [
                "CLibFuzzer", "NightjarCoding", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Fuzz/WebSocket"),
        .executableTarget(
            name: "FuzzHTTP2",
            dependencies: [
                "CLibFuzzer", "NightjarHTTP", "NightjarTransport", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/Fuzz/HTTP2"),
        .executableTarget(
            name: "FuzzStreams",
            dependencies: ["CLibFuzzer", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Fuzz/Streams"),
        .executableTarget(
            name: "FuzzWorker", dependencies: ["CLibFuzzer", "NightjarHTTP"], path: "Tests/Fuzz/Worker"),
    ]
}
// Needs BoringSSL's fuzzer mode, which scripts/fuzz enables for this target.
if Context.environment["NIGHTJAR_FUZZ"] == "tls" {
    package.targets.append(
        .executableTarget(
            name: "FuzzTLS",
            dependencies: ["CLibFuzzer", "NightjarCrypto", .product(name: "NIOSSL", package: "swift-nio-ssl")],
            path: "Tests/Fuzz/TLS"))
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
        .executableTarget(
            name: "MeasureOpenAPI",
            dependencies: ["NightjarAPI", "NightjarHTTP", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Measure/OpenAPI"),
        .executableTarget(
            name: "MeasureResponses", dependencies: ["NightjarAPI", .product(name: "NIOCore", package: "swift-nio")],
            path: "Tests/Measure/Responses"),
    ]
}
