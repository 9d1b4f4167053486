/// How a tenant has come to this node, or has left it.
public enum TenantMove: String, CaseIterable, Sendable {
    /// It was asked for here when no node had it.
    case taken
    /// Its node was lost, or has ended, and this one was given it.
    case takenOver
    /// A node that drains has handed it to this one.
    case received
    /// This node drains, and has handed it to another one.
    case handedOver
}
