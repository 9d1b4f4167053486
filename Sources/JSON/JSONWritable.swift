/// A value that knows its form in JSON.
public protocol JSONWritable {
    /// Writes exactly one value.
    func write(to json: inout JSONWriter)
}

extension JSONWriter {
    /// Writes a value.
    @inlinable
    public mutating func value(_ value: some JSONWritable) {
        value.write(to: &self)
    }

    /// Writes a member. The name must need no escape.
    @inlinable
    public mutating func member(_ name: StaticString, _ value: some JSONWritable) {
        self.name(name)
        value.write(to: &self)
    }

    /// Writes a member whose name is known only now.
    @inlinable
    public mutating func member(named name: String, _ value: some JSONWritable) {
        self.name(named: name)
        value.write(to: &self)
    }

    /// Writes a member whose value is JSON already, see `raw(_:)`.
    @inlinable
    public mutating func member(_ name: StaticString, raw value: [UInt8]) {
        self.name(name)
        raw(value)
    }

    /// Writes a member whose value is bytes in base64, see `base64(_:)`.
    @inlinable
    public mutating func member(_ name: StaticString, base64 bytes: [UInt8]) {
        self.name(name)
        base64(bytes)
    }

    /// Writes a member whose value is an instant or null, see `instant(milliseconds:)`.
    @inlinable
    public mutating func member(_ name: StaticString, instant milliseconds: Int64?) {
        self.name(name)
        if let milliseconds { instant(milliseconds: milliseconds) } else { null() }
    }

    /// Writes a member that is an object.
    @inlinable
    public mutating func object<E: Error>(
        _ name: StaticString, _ body: (inout JSONWriter) throws(E) -> Void
    ) throws(E) {
        self.name(name)
        try object(body)
    }

    /// Writes a member that is an array.
    @inlinable
    public mutating func array<E: Error>(
        _ name: StaticString, _ body: (inout JSONWriter) throws(E) -> Void
    ) throws(E) {
        self.name(name)
        try array(body)
    }
}

extension String: JSONWritable {
    /// Writes a JSON string.
    @inlinable
    public func write(to json: inout JSONWriter) { json.string(self) }
}

extension Int: JSONWritable {
    /// Writes a JSON number.
    @inlinable
    public func write(to json: inout JSONWriter) { json.int(Int64(self)) }
}

extension Int64: JSONWritable {
    /// Writes a JSON number.
    @inlinable
    public func write(to json: inout JSONWriter) { json.int(self) }
}

extension Double: JSONWritable {
    /// Writes a JSON number; must be finite.
    @inlinable
    public func write(to json: inout JSONWriter) { json.double(self) }
}

extension Bool: JSONWritable {
    /// Writes `true` or `false`.
    @inlinable
    public func write(to json: inout JSONWriter) { json.bool(self) }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    /// Writes the value, or `null`.
    @inlinable
    public func write(to json: inout JSONWriter) {
        if let self { self.write(to: &json) } else { json.null() }
    }
}

extension Array: JSONWritable where Element: JSONWritable {
    /// Writes a JSON array.
    @inlinable
    public func write(to json: inout JSONWriter) {
        json.array { json in
            for element in self { element.write(to: &json) }
        }
    }
}
