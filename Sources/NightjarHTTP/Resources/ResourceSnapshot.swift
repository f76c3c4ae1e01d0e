/// Whether the data of a resource is being loaded, and how the last load ended.
public enum ResourcePhase: String, Sendable {
    /// Nothing was loaded, or the load was cancelled before there was data.
    case idle
    /// A load is in progress. ``ResourceSnapshot/data`` is the data so far.
    case loading
    case loaded
    /// The last load has failed. ``ResourceSnapshot/data`` is the data of an earlier load.
    case failed
}

/// The kind of a mutation in progress.
public enum ResourceMutationPhase: String, Sendable {
    case saving, deleting
}

/// The state of a resource at one moment. Immutable.
public struct ResourceSnapshot<Value: Sendable>: Sendable {
    /// Whether the data of a resource is being loaded, and how the last load ended.
    public typealias Phase = ResourcePhase
    /// The kind of a mutation in progress.
    public typealias MutationPhase = ResourceMutationPhase

    /// The optimistic value of a mutation in progress, or else the data of the last successful load. An error does not
    /// remove it. Nil: there is none yet, or the resource was deleted.
    public package(set) var data: Value?
    /// Why the last load failed. Nil after a success. A cancelled load is no failure.
    public package(set) var error: NightjarError?
    public package(set) var phase = ResourcePhase.idle
    /// Whether the data may be out of date: a write has invalidated it, a later load has failed, the cache has served it
    /// stale, or it belongs to the previous path.
    public package(set) var isStale = false
    /// The kind of the mutation that began last. Nil: no mutation is in progress.
    public package(set) var mutation: ResourceMutationPhase?
    /// The number of the snapshot: increases with each change of the resource.
    public package(set) var generation = 0
    /// When the server's data was received. Nil if there is none.
    public package(set) var updatedAt: Timestamp?

    package init() {}

    /// Returns the same snapshot of other data.
    package func map<Other: Sendable>(_ transform: (Value) -> Other?) -> ResourceSnapshot<Other> {
        var other = ResourceSnapshot<Other>()
        other.data = data.flatMap(transform)
        (other.error, other.phase, other.isStale) = (error, phase, isStale)
        (other.mutation, other.generation, other.updatedAt) = (mutation, generation, updatedAt)
        return other
    }
}
