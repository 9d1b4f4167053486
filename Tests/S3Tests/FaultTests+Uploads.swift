import Files
import Glibc
import Loop
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// How uploads and copies end of which S3 does not say how.
extension FaultTests {
    @Test(arguments: [
        "", "done", "<Other/>",
        " \n<?xml version=\"1.0\"?><CompleteMultipartUploadResult></CompleteMultipartUploadResult>",
    ]) @LoopActor
    func `an upload is complete where its object is there, whatever S3 says of it`(
        body: String
    ) async throws {
        let bench = try await Bench(ScriptedS3())
        bench.s3.spoil(Self.first(1, "CompleteMultipartUpload", .otherBody(body)))
        try await bench.put(350_000)
        #expect(bench.s3.count("CreateMultipartUpload") == 1)
        try await bench.verify(350_000)
    }

    @Test @LoopActor
    func `an error with space in front of it is one`() async throws {
        let bench = try await Bench(ScriptedS3())
        let error = "  <?xml version=\"1.0\"?><Error><Code>InternalError</Code></Error>"
        bench.s3.spoil(Self.first(1, "CompleteMultipartUpload", .onlyBody(error)))
        try await bench.put(350_000)
        #expect(bench.s3.count("CompleteMultipartUpload") == 2)
        #expect(bench.s3.count("CreateMultipartUpload") == 1)
        try await bench.verify(350_000)
    }

    @Test(arguments: [
        ("HeadObject", ScriptedS3.Fault.length(5)), ("CompleteMultipartUpload", .onlyBody("")),
    ]) @LoopActor
    func `an upload whose object is another one is an error, and is not sent for ever`(
        operation: String, fault: ScriptedS3.Fault
    ) async throws {
        let bench = try await Bench(ScriptedS3())
        let spool = try await bench.spool(350_000)
        bench.s3.spoil(Self.first(1, operation, fault))
        let error = try await #require(throws: FileError.self) { try await spool.finish() }
        #expect(error == FileError("CompleteMultipartUpload", code: EREMOTEIO))
        #expect(bench.s3.count("CreateMultipartUpload") == 1)
        #expect(try bench.hasPart())
    }

    @Test @LoopActor
    func `an upload that somebody has forgotten begins anew`() async throws {
        let bench = try await Bench(ScriptedS3())
        let gone = ScriptedS3.Fault.answer(404, "NoSuchUpload")
        bench.s3.spoil(Self.first(1, "CompleteMultipartUpload", gone))
        try await bench.put(350_000)
        #expect(bench.s3.count("CreateMultipartUpload") == 2)
        try await bench.verify(350_000)
    }

    @Test @LoopActor
    func `a copy may take S3 longer than any other answer`() async throws {
        #expect(S3Sizes().copy <= 256 << 20)
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3) { $0.silence.usual = .milliseconds(500) }
        try await bench.put(50_000)
        let gate = Gate()
        let heads = Atomic(0)
        s3.spoil { operation, _ in
            if operation == "CopyObject" { return .held(gate) }
            guard operation == "HeadObject" else { return nil }
            // The first one is that of the copy; the second one gets no answer, and comes again.
            switch heads.add(1, ordering: .relaxed).newValue {
            case 2: return .held(gate)
            case 3...: gate.open()
            default: break
            }
            return nil
        }
        let target = ContentName.file(FileID(rawValue: 1))
        let copy = LoopActor.start { try await bench.contents.copy(Self.content, to: target) }
        try await eventually("the copy") { s3.count("CopyObject") == 1 }
        #expect(try await bench.contents.length(of: Self.content) == 50_000)
        try await copy.value
        #expect(s3.count("CopyObject") == 1)
        #expect(try await bench.contents.length(of: target) == 50_000)
    }
}
