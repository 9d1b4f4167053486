/// A value that lies apart, so that what it is part of is copied at the cost of one reference.
///
/// For large values that are copied often and change seldom: a change of what somebody else has,
/// too, makes a new box.
@propertyWrapper
public struct Boxed<Value: Equatable & Sendable>: Equatable, Sendable {
    @usableFromInline var box: Box<Value>

    /// Puts the value into a box of its own; it is shared by all copies.
    @inlinable
    public init(wrappedValue: Value) { box = Box(wrappedValue) }

    /// The value.
    @inlinable public var wrappedValue: Value {
        get { box.value }
        set { box = Box(newValue) }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }

    /// Whether both are the same box, or have equal values.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }
}

/// As `Boxed`, for a value that may be absent, which then costs no box.
@propertyWrapper
public struct BoxedIfAny<Value: Equatable & Sendable>: Equatable, Sendable {
    @usableFromInline var box: Box<Value>?

    /// Puts the value, if there is one, into a box of its own; it is shared by all copies.
    @inlinable
    public init(wrappedValue: Value?) { box = wrappedValue.map { Box($0) } }

    /// The value, or nil.
    @inlinable public var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map { Box($0) } }
    }

    /// Whether both are the same box, or have equal values, or none.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool {
        left.box === right.box || left.wrappedValue == right.wrappedValue
    }
}

/// What a `Boxed` value lies in. It changes only while nobody else has the box.
@usableFromInline
final class Box<Value: Sendable>: @unchecked Sendable {
    @usableFromInline var value: Value

    @usableFromInline
    init(_ value: Value) { self.value = value }
}
