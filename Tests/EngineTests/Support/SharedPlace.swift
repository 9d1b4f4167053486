import Curl
import Loop
import Sealing
import Semantics
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// A place for whole contents that several machines share.
struct SharedPlace: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Makes another machine's view of a place that no test has had yet.
    let make: @LoopActor () async throws -> @LoopActor () async throws -> any WholeContents

    /// How much of a download is sent there ahead at a time.
    static let stretchLength: Int64 = 48 << 12
    static let files = FileThreads(count: 2)

    /// Those that there are on this machine.
    static let all =
        [
            SharedPlace(testDescription: "shared folder") {
                let directory = try TemporaryDirectory()
                return { folder(in: directory) }
            }
        ] + (MotoServer.isInstalled ? [onS3] : [])

    static func folder(in directory: TemporaryDirectory) -> SharedFolderContents {
        SharedFolderContents(at: directory.path, files: files, stretchLength: stretchLength)
    }

    /// A folder that does what its test wants, of its own.
    @LoopActor
    static func scripted() throws -> ScriptedPlace {
        let directory = try TemporaryDirectory()
        return ScriptedPlace(folder(in: directory), keeping: directory)
    }

    private static let onS3 = SharedPlace(testDescription: "S3") {
        let moto = try await MotoServer.shared()
        let place = moto.newPlace()
        return {
            var everywhere = EgressPolicy()
            everywhere.allowed = [try AllowedDestination(parsing: "127.0.0.0/8")]
            var sizes = S3Sizes()
            sizes.part = stretchLength
            return try S3Contents(
                at: S3Location(place, environment: [:]), environment: moto.environment,
                transport: CurlTransport(CurlSettings(egress: everywhere, userAgent: "tests")),
                digests: SHADigests(), files: files, clock: SystemClock(), sizes: sizes)
        }
    }
}
