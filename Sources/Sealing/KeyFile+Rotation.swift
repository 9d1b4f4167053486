/// A rotation in place: the next key lies beside the present one while data are sealed anew.
///
/// What a crash has left tells by itself which key is in force, since the data open with one of the
/// two: before their one transaction with the present key, after it with the next one.
extension KeyFile {
    /// Where the next key lies during a rotation: beside this file, with `.rotation` at its end.
    public var next: KeyFile { KeyFile(path: path + ".rotation") }

    /// Begins a rotation: the next key, new, is on the disk when this returns.
    ///
    /// What an earlier rotation has left must be settled.
    ///
    /// - Throws: `system`; `vanished` when somebody else rotates at the same time.
    public func beginRotation() throws(DataKeyError) -> DataKey {
        let key = DataKey()
        guard try next.make(key) else { throw .vanished(path: next.path) }
        return key
    }

    /// Ends a rotation, after the data were sealed with the next key: it takes this file's place.
    ///
    /// - Throws: `system`.
    public func finishRotation() throws(DataKeyError) {
        try next.replace(self)
    }

    /// Ends what a rotation that was interrupted has left, and gives the key of this file; nil when
    /// there is none.
    ///
    /// `isInForce` tells whether the data open with a key; nil where nothing is sealed. A next key
    /// that is in force takes this file's place, after `complete` has done what else belonged to
    /// the rotation; one that is not goes, provided that this file's key is in force. With neither
    /// in force nothing is changed: they may be those of other data.
    ///
    /// - Throws: as `load`; what `isInForce` and `complete` throw.
    public func settled(
        isInForce: (DataKey) throws -> Bool?, complete: () throws -> Void = {}
    ) throws -> DataKey? {
        for file in [self, next] { try file.draft.remove() }
        // Nothing but a rotation makes it, and only whole: what is wrong with it is somebody else's
        // doing, and for the operator to see.
        guard let nextKey = try next.load() else { return try load() }
        let key = try load()
        if let key, try isInForce(key) == true {
            try next.remove()
            return key
        }
        guard try isInForce(nextKey) == true else { return key }
        try complete()
        try finishRotation()
        return nextKey
    }
}
