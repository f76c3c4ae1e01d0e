extension DemoStatistics {
    /// The HTTP/2 connections and streams.
    package struct HTTP2: Sendable {
        package internal(set) var connectionsOpened = 0
        package internal(set) var connectionsOpen = 0
        package internal(set) var streamsOpened = 0
        package internal(set) var streamsOpen = 0
        /// The maximum number of streams that were open at the same time, on all connections.
        package internal(set) var streamsOpenMax = 0
        /// RST_STREAM frames received.
        package internal(set) var resets = 0
        /// PING frames received, without acknowledgements.
        package internal(set) var pings = 0
        /// GOAWAY frames received.
        package internal(set) var goAways = 0

        mutating func opened(stream: Bool) {
            if stream {
                streamsOpened += 1
                streamsOpen += 1
                streamsOpenMax = max(streamsOpenMax, streamsOpen)
            } else {
                connectionsOpened += 1
                connectionsOpen += 1
            }
        }

        /// Resets the counters, but not the open connections and streams.
        mutating func reset() {
            let (connections, streams) = (connectionsOpen, streamsOpen)
            self = HTTP2()
            (connectionsOpen, streamsOpen, streamsOpenMax) = (connections, streams, streams)
        }
    }
}
