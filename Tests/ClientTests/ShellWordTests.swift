import Client
import Testing

struct ShellWordTests {
    @Test(arguments: [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"), ("", "''"), ("a b", "'a b'"),
        ("it's", #"'it'\''s'"#), ("$HOME", "'$HOME'"), ("Ü", "'Ü'"),
    ])
    func `a word is one word for the shell, and reads as it is`(word: String, quoted: String) {
        #expect(ShellWord.quoted(word) == quoted)
    }
}
