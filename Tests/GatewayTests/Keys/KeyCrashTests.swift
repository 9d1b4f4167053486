import Foundation
import TestSupport
import Testing

/// `kill -9` in the middle of `ferry key rotate`: the next start needs no help (security §5, R-1).
struct KeyCrashTests {
    /// `FERRY_CRASH_ROUNDS=50` for a night.
    private static let rounds =
        ProcessInfo.processInfo.environment["FERRY_CRASH_ROUNDS"].flatMap { Int($0) } ?? 8

    @Test func `a rotation that is killed at any moment leaves data that start`() async throws {
        try await RunningGateway.alone { first in
            var gateway = first
            let work = try await KeyWork(60, at: gateway.client)
            for round in 0..<Self.rounds {
                try await gateway.kill9()
                let rotation = try Rotation(directory: gateway.dataDirectory).start()
                await wait(for: round, of: rotation, in: gateway.directory)
                try await rotation.killNow()
                gateway = try await gateway.restarted()
                try await work.verify(at: gateway.client, "round \(round)")
                let names = try gateway.directory.contents().filter { $0.hasPrefix("data/key") }
                #expect(names == ["data/key"], "round \(round)")
            }
            try await work.verifySecrets(at: gateway.client)
            try await gateway.kill9()
        }
    }

    /// Returns at another moment in each round: at once, when the new key is there, when the
    /// transaction is being written, when the new key has its place, and at its end.
    private func wait(
        for round: Int, of rotation: ChildProcess, in directory: TemporaryDirectory
    ) async {
        let manager = FileManager.default
        let (key, log) = (directory.file("data/key"), directory.file("data/ferry.sqlite-wal"))
        let identity = { (path: String) in
            try? manager.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        }
        let size = { try? manager.attributesOfItem(atPath: log)[.size] as? Int }
        let (oldKey, oldSize) = (identity(key), size() ?? 0)
        let isReached: () -> Bool =
            switch round % 5 {
            case 0: { true }
            case 1: { manager.fileExists(atPath: key + ".rotation") }
            case 2: { (size() ?? 0) != oldSize && manager.fileExists(atPath: key + ".rotation") }
            case 3: { identity(key) != oldKey }
            default: { false }
            }
        while rotation.exit == nil, !isReached() { await Task.yield() }
    }

    @Test(arguments: [false, true])
    func `the start ends what a rotation has left`(isSealed: Bool) async throws {
        try await RunningGateway.alone { gateway in
            let work = try await KeyWork(2, at: gateway.client)
            try await gateway.kill9()
            let (key, next) = (
                gateway.dataDirectory + "/key", gateway.dataDirectory + "/key.rotation"
            )
            let old = try gateway.directory.read("data/key")
            var expected = old
            if isSealed {
                // As it is between the transaction and the new key's taking its place.
                let rotation = try await Rotation(directory: gateway.dataDirectory).run()
                #expect(rotation.exit == .status(0), "\(rotation.reason)")
                expected = try gateway.directory.read("data/key")
                try FileManager.default.moveItem(atPath: key, toPath: next)
                try Data(old).write(to: URL(fileURLWithPath: key))
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: key)
            } else {
                // As it is before the transaction.
                _ = try OperatorKey.makeFile("data/key.rotation", in: gateway.directory)
            }
            let again = try await gateway.restarted()
            try await work.verify(at: again.client)
            #expect(try gateway.directory.read("data/key") == expected)
            #expect(!FileManager.default.fileExists(atPath: next))
            try await work.verifySecrets(at: again.client, isRotated: isSealed)
            try await again.kill9()
        }
    }
}
