import Foundation
import NIOCore
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Testing

/// Random calls to the demo server. Each response must be for the requested name, user and language, and no older than
/// its freshness and this client's writes allow.
///
/// Environment variables:
/// - `CACHE_ORACLE_SEED`: runs only this seed
/// - `CACHE_ORACLE_ROUNDS`: the number of rounds per seed (default 300)
@Suite struct CacheOracleTests {
    private static let environment = ProcessInfo.processInfo.environment
    static let seeds: [UInt64] = environment["CACHE_ORACLE_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, 2, 3, 4]
    private static let rounds = environment["CACHE_ORACLE_ROUNDS"].flatMap { Int($0) } ?? 300

    /// The allowed age of a response: any version since this client's last write, or only the server's current version.
    private enum Rule { case anyAge, current }

    private static let controls: [(query: String, rule: Rule)] = [
        ("control=max-age=600", .anyAge), ("control=max-age=600,immutable", .anyAge), ("expires=600", .anyAge),
        ("control=max-age=600&age=601", .current), ("control=max-age=0", .current), ("control=no-cache", .current),
        ("control=no-store", .current), ("control=max-age=600&vary=*", .current),
        ("control=private,max-age=600", .anyAge),
        ("control=max-age=600,must-revalidate&age=700", .current), ("control=s-maxage=600,max-age=0", .current),
        ("expires=garbage", .current), ("control=max-age=1,stale-while-revalidate=600&age=5", .anyAge),
    ]
    private static let shapes = ["", "&length=3000", "&length=40000&chunked=1", "&length=2000&gzip=1", "&length=200"]
    private static let tags = ["", "&etag=strong", "&etag=weak"]
    private static let languages = ["de", "fr"]
    private static let users: [(name: String?, header: (String, String)?)] = [
        (nil, nil), ("ada", ("Authorization", "Basic YWRhOng=")), ("bob", ("Authorization", "Basic Ym9iOng=")),
        ("ada", ("Cookie", "user=ada")), ("carol", ("Cookie", "user=carol")),
    ]

    private struct Resource {
        let name: String
        let target: String
        let rule: Rule
        let varies: Bool
        let isPrivate: Bool
        /// The oldest version that may be returned after this client's writes.
        var oldest = 1
    }

    /// The parameters of one call.
    private struct CallParameters {
        let resource: Int
        let user: Int
        let language: String
        let policy: CachePolicy
        let range: ClosedRange<Int>?
    }

    @Test(arguments: seeds, [false, true]) func noResponseIsForAnotherRequestOrTooOld(_ seed: UInt64, _ isOnDisk: Bool)
        throws
    {
        var random = SeededRandom(seed: seed)
        let demo = try CacheDemo()
        let folder = try TemporaryDirectory()
        let settings =
            isOnDisk
            ? CacheStorage.Settings(memory: 100_000, disk: 1 << 20, folder: folder.file("c"))
            : CacheStorage.Settings(memory: 200_000)
        let client = try demo.client(settings)
        let queue = CompletionQueue()
        var versions: [String: Int] = [:]
        var resources = Self.resources(&random)

        for round in 0..<Self.rounds {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<70:
                let call = Self.randomCall(among: resources, &random)
                let resource = resources[call.resource]
                let current = versions[resource.name] ?? 1
                let response = try? client.sendBlocking(Self.request(call, resource))
                Self.check(response, call, resource, current...current, "seed \(seed), round \(round)")
            case 70..<80:
                // Several concurrent calls, some of them identical.
                let calls = (0..<6).map { _ in Self.randomCall(among: resources, &random) }
                let results = CallResults()
                for (index, call) in (calls + calls).enumerated() {
                    let request = try Self.request(call, resources[call.resource])
                    try client.start(request, on: queue, results.handlers(index))
                }
                results.wait(for: 12, on: queue)
                for (index, call) in (calls + calls).enumerated() {
                    let resource = resources[call.resource]
                    let current = versions[resource.name] ?? 1
                    let response = try? results[index]?.get()
                    Self.check(
                        response, call, resource, current...current,
                        "seed \(seed), round \(round), call \(index)")
                }
            case 80..<90:
                // A write by the client under test to exactly the URL of a resource.
                let index = Int.random(in: 0..<resources.count, using: &random)
                try client.write(resources[index].target)
                versions[resources[index].name, default: 1] += 1
                resources[index].oldest = versions[resources[index].name] ?? 1
            case 90..<97:
                // A write by another client.
                let name = resources[Int.random(in: 0..<resources.count, using: &random)].name
                try demo.change("/cache/\(name)")
                versions[name, default: 1] += 1
            case 97:
                try client.get("/cache/x/clear")
                for index in resources.indices { resources[index].oldest = versions[resources[index].name] ?? 1 }
            case 98:
                // A write concurrently with reads.
                let index = Int.random(in: 0..<resources.count, using: &random)
                let read = CallParameters(
                    resource: index, user: resources[index].isPrivate ? 1 : 0, language: "de", policy: .protocol,
                    range: nil)
                let before = versions[resources[index].name] ?? 1
                let results = CallResults()
                for call in 0..<4 {
                    let request =
                        call == 1
                        ? Request(.post, resources[index].target) : try Self.request(read, resources[index])
                    try client.start(request, on: queue, results.handlers(call))
                }
                results.wait(for: 4, on: queue)
                versions[resources[index].name] = before + 1
                for call in [0, 2, 3] {
                    Self.check(
                        try? results[call]?.get(), read, resources[index], before...before + 1,
                        "seed \(seed), round \(round), call \(call) among writes")
                }
                resources[index].oldest = before + 1
            default: try client.cache?.removeAll()
            }
        }
        #expect(try #require(client.cache).statistics.hits > Self.rounds / 20)
    }

    private static func resources(_ random: inout SeededRandom) -> [Resource] {
        (0..<12).map { index in
            let name = "n\(index % 4)"
            let (query, rule) = controls[Int.random(in: 0..<controls.count, using: &random)]
            let varies = Bool.random(using: &random)
            let isPrivate = Bool.random(using: &random)
            let shape = shapes[Int.random(in: 0..<shapes.count, using: &random)]
            let tag = tags[Int.random(in: 0..<tags.count, using: &random)]
            return Resource(
                name: name,
                target: "/cache/\(name)?\(query)\(shape)\(tag)&seed=\(index)\(varies ? "&vary=Accept-Language" : "")"
                    + (isPrivate ? "&private-to=user" : ""),
                rule: rule, varies: varies, isPrivate: isPrivate)
        }
    }

    private static func randomCall(among resources: [Resource], _ random: inout SeededRandom) -> CallParameters {
        let policies: [CachePolicy] = [
            .protocol, .protocol, .protocol, .revalidate, .reload, .cacheElseLoad, .cacheOnly, .offlineFirst,
        ]
        return CallParameters(
            resource: Int.random(in: 0..<resources.count, using: &random),
            user: Int.random(in: 0..<users.count, using: &random),
            language: languages[Int.random(in: 0..<languages.count, using: &random)],
            policy: policies[Int.random(in: 0..<policies.count, using: &random)],
            range: Int.random(in: 0..<8, using: &random) == 0 ? 0...9 : nil)
    }

    private static func request(_ call: CallParameters, _ resource: Resource) throws -> Request {
        var headers = [("Accept-Language", call.language)]
        if let header = users[call.user].header { headers.append(header) }
        if let range = call.range { headers.append(("Range", "bytes=\(range.lowerBound)-\(range.upperBound)")) }
        return try .cached(resource.target, headers, policy: call.policy)
    }

    private static func check(
        _ response: Response?, _ call: CallParameters, _ resource: Resource, _ current: ClosedRange<Int>,
        _ place: String
    ) {
        let requested =
            "\(place): \(resource.target) as \(call.user) in \(call.language), \(call.policy)"
        guard let response else {
            // A call fails only if its user has no permission, or if it must not send a request.
            #expect(
                call.policy == .cacheOnly || (resource.isPrivate && users[call.user].name == nil),
                "\(requested)")
            return
        }
        guard response.status == 200 else {
            #expect(response.status == 206 && call.range != nil && response.bytes.count <= 10, "\(requested)")
            return
        }
        #expect(response.reported("name") == resource.name, "\(requested)")
        #expect(response.reported("seed") == resource.target.seed, "\(requested)")
        #expect(!resource.varies || response.reported("accept-language") == call.language, "\(requested)")
        #expect(!resource.isPrivate || response.reported("private_to") == users[call.user].name, "\(requested)")
        #expect(!resource.target.contains("length=") || DemoContent.isIntact(response.bytes), "\(requested)")
        let oldest =
            switch call.policy {
            case .reload: current.lowerBound
            case .revalidate: resource.target.contains("immutable") ? resource.oldest : current.lowerBound
            case .protocol: resource.rule == .current ? current.lowerBound : resource.oldest
            case .cacheElseLoad, .cacheOnly, .offlineFirst: 1
            }
        let version = response.version ?? 0
        #expect(
            (oldest...current.upperBound).contains(version),
            "\(requested): version \(version) by \(response.source), not \(oldest) to \(current.upperBound)")
    }
}

extension String {
    /// The value of the query parameter `seed`.
    fileprivate var seed: String? {
        split(separator: "&").first { $0.hasPrefix("seed=") }.map { String($0.dropFirst(5)) }
    }
}
