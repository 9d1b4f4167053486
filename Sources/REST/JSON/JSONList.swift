internal import HTTP
internal import JSON
internal import Loop

/// A list of an answer, which may be long: it is written in slices, between which the loop has its
/// turn.
@LoopActor
struct JSONList {
    fileprivate let name: StaticString
    fileprivate let count: Int
    fileprivate let writeElement: @LoopActor (Int, inout JSONWriter) -> Void

    /// The member `name`, an array of what `write` writes of each element: one value.
    init<Elements: RandomAccessCollection>(
        _ name: StaticString, _ elements: Elements,
        _ write: @escaping @LoopActor (Elements.Element, inout JSONWriter) -> Void
    ) {
        self.name = name
        count = elements.count
        writeElement = { offset, json in
            write(elements[elements.index(elements.startIndex, offsetBy: offset)], &json)
        }
    }

    /// Writes an object of other members and lists.
    ///
    /// - Parameters:
    ///   - lists: those that may be long.
    ///   - capacity: about how many bytes it will be.
    ///   - writeFirst: writes the members before the lists.
    ///   - writeLast: writes the members behind them.
    /// - Returns: the JSON text.
    static func object(
        _ lists: [JSONList], capacity: Int,
        first writeFirst: (inout JSONWriter) -> Void = { _ in },
        last writeLast: (inout JSONWriter) -> Void = { _ in }
    ) async -> [UInt8] {
        var json = JSONWriter(capacity: capacity)
        var slice = await LoopSlice()
        json.beginRoot()
        writeFirst(&json)
        for list in lists {
            json.beginArray(list.name)
            for offset in 0..<list.count {
                list.writeElement(offset, &json)
                await slice.giveBackWhenOver()
            }
            json.endArray()
        }
        writeLast(&json)
        json.endRoot()
        return json.finish()
    }
}

extension Response {
    /// A JSON answer with lists that may be long.
    @LoopActor
    static func lists(
        _ lists: JSONList..., headers: HeaderFields = [:], capacity: Int = 512,
        first writeFirst: (inout JSONWriter) -> Void = { _ in },
        last writeLast: (inout JSONWriter) -> Void = { _ in }
    ) async -> Response {
        let bytes = await JSONList.object(
            lists, capacity: capacity, first: writeFirst, last: writeLast)
        return .json(200, headers: headers, bytes)
    }
}
