extension ClientLoop {
    /// A message of a caller to the loop.
    enum Message {
        case start(ClientTask)
        /// Starts a call of a batch that is in progress.
        case startNext(ClientTask)
        case begin(ClientOperation)
        case cancel(ClientTask)
        case resume(ClientTask)
        // Indirect, because messages are copied often.
        indirect case bodyPart(ClientTask, TaskHandlers.BodyPart)
        case rewound(ClientTask)
        /// A log line.
        indirect case note(LogSink.Level, String)
        /// The caller's response to a ``DecisionRequest``.
        indirect case decided(ClientTask, any Sendable)
        /// A closure to run on the loop.
        case run(@Sendable () -> Void)
        case close
        /// Replaces a message that has been taken from the inbox.
        case nothing
    }
}
