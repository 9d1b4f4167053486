/// How far a download came, and what its entity must still be to go on from there (S-34…S-36).
public struct ResumePoint: Hashable, Sendable {
    /// What is downloaded.
    public let entity: RangedEntity
    /// The offsets that are on the disk: ascending, neither empty, overlapping nor touching; at
    /// least one range.
    public let received: [Range<Int64>]

    /// Bytes that are missing.
    public struct Gap: Hashable, Sendable {
        /// The offset of the first one.
        public let start: Int64
        /// The offset behind the last one; nil for the end of the entity.
        public let end: Int64?

        /// The bytes from `start` to before `end`.
        public init(start: Int64, end: Int64?) {
            self.start = start
            self.end = end
        }
    }

    /// A point from its parts, as they were kept; nil where `received` is not in the form that it
    /// must have, or goes beyond the entity.
    public init?(entity: RangedEntity, received: [Range<Int64>]) {
        guard let last = received.last, received.isNormal,
            last.upperBound <= entity.total ?? .max
        else { return nil }
        self.entity = entity
        self.received = received
    }

    /// Where a download goes on; nil where it cannot: nothing was received, or
    /// `RangedEntity.init(of:method:)` says no.
    ///
    /// A download that has everything can go on too: the request behind its end is answered with
    /// 416 (`complete`).
    ///
    /// - Parameters:
    ///   - response: the one that the content began with; what came by range since was judged
    ///     against it. See `RangedEntity`.
    ///   - method: of its request.
    ///   - received: offsets within the entity, in any order.
    public init?(of response: ResponseRecord, method: String, received: [Range<Int64>]) {
        guard let entity = RangedEntity(of: response, method: method) else { return nil }
        self.init(entity: entity, received: received.normalised())
    }

    /// The point of the same entity with other offsets, in any order; nil where there are none, or
    /// where they go beyond it.
    public func having(_ ranges: [Range<Int64>]) -> ResumePoint? {
        ResumePoint(entity: entity, received: ranges.normalised())
    }

    /// Whether everything is here that another point of the entity has.
    public func covers(_ other: ResumePoint) -> Bool {
        other.received.allSatisfy { range in
            received.contains {
                $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
            }
        }
    }

    /// What the entity must still be.
    public var validators: EntityValidators { entity.validators }

    /// The length of the whole in bytes; nil where it is unknown.
    public var total: Int64? { entity.total }

    /// How many bytes are there.
    public var receivedCount: Int64 { received.byteCount }

    /// How many bytes are there without a gap from the first one on: `fileOffset` of a download on
    /// one connection.
    public var prefixLength: Int64 {
        received.first.flatMap { $0.lowerBound == 0 ? $0.upperBound : nil } ?? 0
    }

    /// What is missing, ascending; none where everything is there. Without a total it is one gap,
    /// from the prefix to the end, and what lies behind it counts for nothing.
    public var gaps: [Gap] {
        guard let total else { return [Gap(start: prefixLength, end: nil)] }
        return received.gaps(in: total).map { Gap(start: $0.lowerBound, end: $0.upperBound) }
    }
}
