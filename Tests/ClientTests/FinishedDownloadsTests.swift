import Foundation
import Glibc
import TestSupport
import Testing

@testable import Client

/// What an interrupted command for several files has brought.
struct FinishedDownloadsTests {
    let folder: TemporaryDirectory
    let home: TemporaryDirectory
    var order = DownloadOrder(url: "http://h/a")
    let other = DownloadOrder(url: "http://h/b")

    init() throws {
        folder = try TemporaryDirectory()
        home = try TemporaryDirectory()
        try folder.write("a", [1, 2, 3])
    }

    private func open(
        _ orders: [DownloadOrder]? = nil, in place: String? = nil
    ) -> FinishedDownloads? {
        FinishedDownloads(
            of: orders ?? [order, other], in: place ?? folder.path,
            environment: ["HOME": home.path])
    }

    private func note(isComplete: Bool = true) throws {
        let receipt = DownloadReceipt(
            task: "tsk_1", url: "http://h/b", path: "a", status: 200, length: 3, fetched: 3,
            digest: "d", elapsed: .seconds(1))
        try #require(open()).note(receipt, of: order, isComplete: isComplete)
    }

    @Test func `a command for the same files knows what the one before has brought`() throws {
        #expect(open()?.entry(for: order) == nil)
        try note()
        let entry = try #require(open()?.entry(for: order))
        #expect(entry.isComplete)
        #expect(entry.receipt.path == "a" && entry.receipt.url == "http://h/b")
        #expect(entry.receipt.sentence == "a: 3 B, all there already")
        var quicker = order
        quicker.connections = 4
        #expect(open([other, quicker])?.entry(for: order) == entry)
    }

    @Test func `one for others, or to another place, does not`() throws {
        try note()
        #expect(open([order])?.entry(for: order) == nil)
        var placed = order
        placed.output = "there/"
        #expect(open([placed, other])?.entry(for: placed) == nil)
        var replacing = order
        replacing.replacesFile = true
        #expect(open([replacing, other])?.entry(for: replacing) == nil)
        let elsewhere = try TemporaryDirectory()
        try elsewhere.write("a", [1, 2, 3])
        #expect(open(in: elsewhere.path)?.entry(for: order) == nil)
        #expect(open()?.entry(for: DownloadOrder(url: "http://h/c")) == nil)
        var anew = order
        anew.continues = false
        #expect(open()?.entry(for: anew) == nil)
    }

    @Test func `a file that was changed, replaced or removed is another one`() throws {
        try note()
        try folder.write("a", [1, 2, 4])
        #expect(open()?.entry(for: order) == nil)
        try note()
        try folder.write("b", [1, 2, 4])
        rename(folder.file("b"), folder.file("a"))
        #expect(open()?.entry(for: order) == nil)
        try note()
        unlink(folder.file("a"))
        #expect(open()?.entry(for: order) == nil)
    }

    @Test func `a command that is to be run for the file may still have to`() throws {
        try note(isComplete: false)
        #expect(open()?.entry(for: order)?.isComplete == false)
        try note()
        #expect(open()?.entry(for: order)?.isComplete == true)
    }

    @Test func `nothing is left when all is there`() throws {
        try note()
        let place = home.file(".local/state/ferry/unfinished")
        let names = try FileManager.default.contentsOfDirectory(atPath: place)
        let path = try #require(names.first.map { place + "/" + $0 })
        #expect(names.count == 1)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        open()?.forget()
        #expect(try FileManager.default.contentsOfDirectory(atPath: place) == [])
        #expect(open()?.entry(for: order) == nil)
    }

    @Test func `what a command has left that is never given again goes after a month`() throws {
        try note()
        let place = home.file(".local/state/ferry/unfinished")
        let path =
            try place + "/" + #require(
                FileManager.default.contentsOfDirectory(atPath: place).first)
        var times = [timeval(), timeval()]
        times[0].tv_sec = time(nil) - 31 * 86_400
        times[1].tv_sec = times[0].tv_sec
        utimes(path, times)
        _ = open([other])
        #expect(access(path, F_OK) != 0)
    }

    @Test func `where nothing can be written nothing is remembered`() {
        let environment = ["XDG_STATE_HOME": "/proc/none"]
        #expect(FinishedDownloads(of: [order], in: folder.path, environment: environment) == nil)
    }
}
