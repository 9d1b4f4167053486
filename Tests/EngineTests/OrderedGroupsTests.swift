import Semantics
import Testing

@testable import Engine

/// What is looked up by tenant, or by session, in the order of creation.
@Suite struct OrderedGroupsTests {
    private typealias Groups = OrderedGroups<TenantID, FileID, String>
    private let one = TenantID(rawValue: 1)
    private let two = TenantID(rawValue: 2)

    private func id(_ number: Int64) -> FileID { FileID(rawValue: number) }

    /// Of two tenants; the numbers have come in another order than theirs.
    private func made() -> Groups {
        var groups = Groups()
        for number in [4, 1, 9, 7] as [Int64] {
            groups.insert("\(number)", as: id(number), of: one)
        }
        for number in [2, 8] as [Int64] { groups.insert("\(number)", as: id(number), of: two) }
        return groups
    }

    @Test func `a group has its own, in the order of their ids, whenever they have come`() {
        let groups = made()
        #expect(groups.values(of: one) == ["1", "4", "7", "9"])
        #expect(groups.values(of: two) == ["2", "8"])
        #expect(groups.values(of: TenantID(rawValue: 3)).isEmpty)
        #expect(Array(groups.ids(of: one, behind: id(4))) == [id(7), id(9)])
        #expect(Array(groups.ids(of: one, behind: id(5))) == [id(7), id(9)])
        #expect(groups.ids(of: one, behind: nil).count == 4)
        #expect(groups.ids(of: one, behind: id(9)).isEmpty)
        #expect(groups.count == 6 && Set(groups.values).count == 6 && groups[id(8)] == "8")
    }

    @Test func `what is taken out, or replaced, leaves the others where they are`() {
        var groups = made()
        #expect(groups.remove(id(4)) == "4" && groups.remove(id(4)) == nil)
        #expect(groups.values(of: one) == ["1", "7", "9"])
        groups.insert("seven", as: id(7), of: one)
        groups.change(id(9)) { $0 += "!" }
        groups.change(id(4)) { $0 += "!" }
        #expect(groups.values(of: one) == ["1", "seven", "9!"])
        #expect(groups.removeAll([id(1), id(9), id(2), id(8), id(5)]) == ["1", "9!", "2", "8"])
        #expect(groups.values(of: one) == ["seven"] && groups.ids(of: two).isEmpty)
        #expect(groups.remove(id(7)) == "seven" && groups.count == 0)
    }
}
