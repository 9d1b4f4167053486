/// Values by their ids, and those of each group in the order of the ids: of each tenant, say, in
/// the order of creation.
///
/// Ids grow, so that what is new comes last: taking it in costs the same however many there are.
/// Taking one out costs a move of those behind it in its group.
struct OrderedGroups<Group: Hashable, ID: Hashable & Comparable, Value> {
    private struct Member {
        let group: Group
        var value: Value
    }

    private var members: [ID: Member] = [:]
    /// Ascending.
    private var idsOfGroup: [Group: [ID]] = [:]

    subscript(_ id: ID) -> Value? { members[id]?.value }

    var count: Int { members.count }

    /// In no order.
    var values: some Sequence<Value> { members.values.lazy.map(\.value) }

    /// In no order.
    var ids: some Sequence<ID> { members.keys }

    /// The ids of a group, ascending.
    func ids(of group: Group) -> [ID] { idsOfGroup[group] ?? [] }

    /// The ids of a group behind one of them, ascending; all where there is none.
    func ids(of group: Group, behind id: ID?) -> ArraySlice<ID> {
        let ids = ids(of: group)
        return ids[(id.map { id in ids.partitioningIndex { $0 > id } } ?? 0)...]
    }

    /// The values of a group, in the order of their ids.
    func values(of group: Group) -> [Value] { ids(of: group).compactMap { self[$0] } }

    /// Takes a value in, in place of the one that has the id.
    mutating func insert(_ value: Value, as id: ID, of group: Group) {
        remove(id)
        members[id] = Member(group: group, value: value)
        let place = place(of: id, in: group)
        idsOfGroup[group, default: []].insert(id, at: place)
    }

    /// Changes a value, if there is one.
    mutating func change(_ id: ID, _ change: (inout Value) -> Void) {
        guard let index = members.index(forKey: id) else { return }
        change(&members.values[index].value)
    }

    @discardableResult
    mutating func remove(_ id: ID) -> Value? {
        guard let member = members.removeValue(forKey: id) else { return nil }
        let place = place(of: id, in: member.group)
        idsOfGroup[member.group]?.remove(at: place)
        if ids(of: member.group).isEmpty { idsOfGroup[member.group] = nil }
        return member.value
    }

    /// Takes many out, at the cost of one look at each value of their groups.
    ///
    /// - Returns: those that were there.
    mutating func removeAll(_ ids: some Sequence<ID>) -> [Value] {
        let removed = ids.compactMap { members.removeValue(forKey: $0) }
        for group in Set(removed.map(\.group)) {
            let left = self.ids(of: group).filter { members[$0] != nil }
            idsOfGroup[group] = left.isEmpty ? nil : left
        }
        return removed.map(\.value)
    }

    /// Where an id is, or would go.
    private func place(of id: ID, in group: Group) -> Int {
        let ids = ids(of: group)
        guard let last = ids.last, last >= id else { return ids.count }
        return ids.partitioningIndex { $0 >= id }
    }
}
