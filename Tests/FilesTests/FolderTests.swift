import Files
import Testing

struct FolderTests {
    @Test(arguments: [
        ("name", "."), ("./name", "."), ("/name", "/"), ("/folder/name", "/folder"),
        ("folder/name", "folder"), ("../name", ".."),
    ])
    func `a name alone is in the present folder, and one behind a slash in the root`(
        path: String, folder: String
    ) {
        #expect(Folder.parent(of: path) == folder)
    }
}
