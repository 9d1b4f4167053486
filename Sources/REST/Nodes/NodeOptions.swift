public import Engine

extension Service {
    /// What a gateway needs that shares its database with others: it passes requests on to the
    /// nodes that have their tenants, and believes what these nodes say of callers.
    public struct NodeOptions: Sendable {
        /// Reaches the other nodes. It must be let go anywhere: clients do not choose where.
        public var transport: any Transport & Sendable
        /// What only the nodes know, 32 bytes: who has it may call for anybody. It signs, and is
        /// never sent.
        public var key: [UInt8]
        /// Who has which tenant; nil is the gateway's own `nodes`.
        public var places: (any TenantPlaces)?

        /// Options from their parts.
        public init(
            transport: any Transport & Sendable, key: [UInt8], places: (any TenantPlaces)? = nil
        ) {
            self.transport = transport
            self.key = key
            self.places = places
        }
    }
}
