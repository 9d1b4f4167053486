import Testing

import Semantics

struct BoxedTests {
    private struct Record: Equatable {
        @Boxed var name = "a"
        @BoxedIfAny var note: String? = nil
    }

    @Test func `a copy does not see what is changed in the other one's boxes`() {
        var first = Record()
        first.note = "n"
        var second = first
        second.name += "b"
        second.note = nil
        #expect(first.name == "a" && first.note == "n")
        #expect(second.name == "ab" && second.note == nil)
    }

    @Test func `boxes are equal where their values are`() {
        var first = Record()
        var second = Record()
        #expect(first == second)
        first.note = "n"
        #expect(first != second)
        second.note = "n"
        #expect(first == second)
        second.name = "b"
        #expect(first != second)
    }
}
