internal import Loop

/// Long work in slices, one at a turn of the loop: it serves everybody in between.
enum Slices {
    static let size = 256

    /// Does something with each slice of many items.
    @LoopActor
    static func of<Item>(_ items: [Item], _ body: (ArraySlice<Item>) -> Void) async {
        for start in stride(from: 0, to: items.count, by: size) {
            if start > 0 { await LoopActor.nextTurn() }
            body(items[start..<min(items.count, start + size)])
        }
    }
}
