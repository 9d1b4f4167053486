public import Engine
public import HTTP

extension Service {
    /// What a gateway needs that shares its database with others: it passes requests on to the
    /// nodes that have their tenants, and believes what these nodes say of callers.
    public struct NodeOptions: Sendable {
        /// Reaches the other nodes.
        public var client: HTTPClient
        /// What only the nodes know, 32 bytes: who has it may call for anybody. It signs, and is
        /// never sent.
        public var key: [UInt8]
        /// Who has which tenant; nil is the gateway's own `nodes`.
        public var places: (any TenantPlaces)?

        /// Options from their parts.
        public init(client: HTTPClient, key: [UInt8], places: (any TenantPlaces)? = nil) {
            self.client = client
            self.key = key
            self.places = places
        }
    }
}
