extension DemoStatistics {
    /// The response of `/__stats`.
    var json: JSON {
        [
            "requests": JSON.counts(requests),
            "statuses": .object(
                statuses.sorted { $0.key < $1.key }.map { .init(name: String($0.key), value: .int($0.value)) }),
            "paths": .object(
                paths.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value.json) }),
            "versions": JSON.counts(versions),
            "http2": http2.json,
            "connections": ["opened": .int(connectionsOpened), "open": .int(connectionsOpen)],
            "bytes": ["in": .int(bytesIn), "out": .int(bytesOut)],
            "auth": auth.json,
            "scope": .string(auth.scope),
            "orders": orders.json,
            "web_sockets": webSockets.json,
            "graphql_subscriptions": .int(graphQLSubscriptions),
            "limited": .int(limited),
            "outage_requests": .int(outageRequests),
            "per_second": .array(perSecond.map(JSON.int)),
            "in_progress": JSON.counts(inProgress),
            "in_progress_max": JSON.counts(inProgressMax),
            "abandoned": JSON.counts(abandoned),
            "log": .array(exchanges.map(\.json)),
        ]
    }
}

extension DemoStatistics.PathCount {
    fileprivate var json: JSON {
        [
            "requests": .int(requests),
            "conditional": .int(conditional),
            "ranged": .int(ranged),
            "not_modified": .int(notModified),
            "partial": .int(partial),
        ]
    }
}

extension DemoStatistics.Auth {
    fileprivate var json: JSON {
        [
            "logins": .int(logins),
            "logouts": .int(logouts),
            "client_credentials": .int(clientCredentials),
            "refreshes": .int(refreshes),
            "refresh_replays": .int(refreshReplays),
            "refresh_reuses": .int(refreshReuses),
            "revoked_families": .int(revokedFamilies),
            "refused": .int(refused),
        ]
    }
}

extension DemoStatistics.Orders {
    fileprivate var json: JSON {
        [
            "requests": .int(requests),
            "created": .int(created),
            "replayed": .int(replayed),
            "conflicts": .int(conflicts),
            "dropped": .int(dropped),
        ]
    }
}

extension DemoStatistics.HTTP2 {
    fileprivate var json: JSON {
        [
            "connections_opened": .int(connectionsOpened),
            "connections_open": .int(connectionsOpen),
            "streams_opened": .int(streamsOpened),
            "streams_open": .int(streamsOpen),
            "streams_open_max": .int(streamsOpenMax),
            "resets": .int(resets),
            "pings": .int(pings),
            "goaways": .int(goAways),
        ]
    }
}

extension DemoStatistics.WebSockets {
    fileprivate var json: JSON {
        [
            "opened": .int(opened),
            "open": .int(open),
            "messages": .int(messages),
            "messages_sent": .int(messagesSent),
            "pings": .int(pings),
            "pongs": .int(pongs),
            "closes": .object(
                closes.sorted { $0.key < $1.key }.map { .init(name: String($0.key), value: .int($0.value)) }),
            "violations": .int(violations),
        ]
    }
}

extension DemoStatistics.Exchange {
    fileprivate var json: JSON {
        [
            "number": .int(number),
            "connection": .int(connection),
            "request_on_connection": .int(numberOnConnection),
            "stream": stream.map { .int($0) } ?? .null,
            "version": .string(version),
            "method": .string(method),
            "target": .string(target),
            "route": .string(route),
            "headers": .array(headers.map { [.string($0.name), .string($0.value)] }),
            "body": Echo.body(body),
            "body_encoding": Echo.bodyEncoding(body),
            "body_bytes": .int(bodyLength),
            "complete": .bool(isComplete),
            "status": .int(status),
        ]
    }
}

extension JSON {
    /// Returns the counts as an object, sorted by name.
    fileprivate static func counts(_ counts: [String: Int]) -> JSON {
        .object(counts.sorted { $0.key < $1.key }.map { Member(name: $0.key, value: .int($0.value)) })
    }
}
