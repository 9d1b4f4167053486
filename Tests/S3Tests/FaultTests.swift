import Curl
import Files
import Foundation
import Loop
import Sealing
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// What was asked for, in the order in which it came to an origin.
private final class Ranges: Sendable {
    private let values = Mutex<[String]>([])
    var all: [String] { values.withLock { $0 } }
    func append(_ range: String) { values.withLock { $0.append(range) } }
}

/// What becomes of contents where S3 fails, answers late, or is away.
struct FaultTests {
    static let files = FileThreads(count: 2)
    static let task = ContentOwner.task(TaskID(rawValue: 7))
    static let content = ContentName(task)
    private static let isRunning: Void = LoopActor.loop.start()

    /// A store on a scripted S3: in parts of 100 KiB.
    @LoopActor
    final class Bench {
        let s3: ScriptedS3
        let directory: TemporaryDirectory
        let contents: S3Contents
        let store: SplitContentStore
        let spools: Spools
        let folder: ContentFolder
        /// By what the content is found.
        var name = FaultTests.content

        init(
            _ s3: ScriptedS3, isShared: Bool = false, clock: any Clock = SystemClock(),
            _ change: (inout S3Sizes) -> Void = { _ in }
        ) async throws {
            self.s3 = s3
            directory = try TemporaryDirectory()
            folder = ContentFolder(path: directory.path)
            try folder.prepare()
            var everywhere = EgressPolicy()
            everywhere.allowed = [try AllowedDestination(parsing: "127.0.0.0/8")]
            var sizes = S3Sizes()
            (sizes.part, sizes.memory) = (100 << 10, 300_000)
            change(&sizes)
            contents = try S3Contents(
                at: S3Location(s3.place, environment: [:]),
                environment: ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"],
                transport: CurlTransport(CurlSettings(egress: everywhere, userAgent: "tests")),
                digests: SHADigests(), files: FaultTests.files, clock: clock, sizes: sizes)
            try await contents.setMark("of-a-test")
            store = SplitContentStore(
                contents, partsIn: folder, files: FaultTests.files, isShared: isShared)
            spools = Spools(
                in: folder, files: FaultTests.files, room: DiskRoom(), clock: SystemClock(),
                digests: SHADigests(), contents: store)
        }

        func spool(_ count: Int) async throws -> ContentSpool {
            let spool = spools.makeSpool(for: FaultTests.task, digest: nil)
            spool.moveToDisk()
            Pattern.bytes(count: count).withUnsafeBytes { spool.append($0) }
            try await spool.settle()
            return spool
        }

        /// The same contents for another process.
        func fresh() throws -> S3Contents {
            try S3Contents(
                at: S3Location(s3.place, environment: [:]),
                environment: ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"],
                transport: CurlTransport(
                    CurlSettings(
                        egress: EgressPolicy(allowed: [AllowedDestination(parsing: "127.0.0.0/8")]),
                        userAgent: "tests")),
                digests: SHADigests(), files: FaultTests.files)
        }

        func put(_ count: Int) async throws { _ = try await spool(count).finish() }

        /// Whether all is there that was put, and nothing of it here any more.
        func verify(_ count: Int) async throws {
            let content = try await store.openKnown(name)
            #expect(content.length == count)
            #expect(
                try await content.read(at: 0, count: count + 1) == Pattern.bytes(count: count))
            try await eventually("no part") { [self] in try !hasPart() }
        }

        func hasPart() throws -> Bool { try folder.length(of: FaultTests.task.id, .part) != nil }
    }

    init() { Self.isRunning }

    /// A fault for the first requests of a kind.
    static func first(
        _ count: Int, _ operation: String, _ fault: ScriptedS3.Fault
    ) -> ScriptedS3.Script {
        let left = Atomic(count)
        return { asked, _ in
            guard asked == operation,
                left.wrappingSubtract(1, ordering: .relaxed).oldValue > 0
            else { return nil }
            return fault
        }
    }

    @Test(arguments: [
        ("PutObject", ScriptedS3.Fault.answer(503, "SlowDown"), 50_000),
        ("PutObject", .answer(400, "RequestTimeout"), 50_000),
        ("PutObject", .answer(429, ""), 50_000), ("PutObject", .cut, 50_000),
        ("PutObject", .lostAnswer, 50_000), ("CreateMultipartUpload", .answer(500, ""), 350_000),
        ("UploadPart", .cut, 350_000), ("UploadPart", .lostAnswer, 350_000),
        ("UploadPart", .answer(503, "SlowDown"), 350_000),
        ("CompleteMultipartUpload", .answer(200, "InternalError"), 350_000),
        ("CompleteMultipartUpload", .lostAnswer, 350_000),
        ("HeadObject", .answer(503, ""), 350_000),
    ]) @LoopActor
    func `what fails once is sent again, and nothing is lost`(
        operation: String, fault: ScriptedS3.Fault, count: Int
    ) async throws {
        let bench = try await Bench(ScriptedS3())
        bench.s3.spoil(Self.first(1, operation, fault))
        try await bench.put(count)
        #expect(bench.s3.count(operation) >= 2)
        try await bench.verify(count)
        #expect(bench.s3.uploadCount == 0)
    }

    @Test @LoopActor func `a read that is cut goes on with the same bytes`() async throws {
        let bench = try await Bench(ScriptedS3())
        try await bench.put(90_000)
        bench.s3.spoil(Self.first(2, "GetObject", .cut))
        try await bench.verify(90_000)
        #expect(bench.s3.count("GetObject") == 3)
    }

    @Test @LoopActor
    func `what is read in order comes by a request for each MiB, and elsewhere what is asked for`()
        async throws
    {
        let bench = try await Bench(ScriptedS3())
        let (count, mebibyte) = (2_500_000, 1 << 20)
        try await bench.put(count)
        let ranges = Ranges()
        bench.s3.spoil { _, request in
            if let range = request.headers["range"] { ranges.append(range) }
            return nil
        }
        let content = try await bench.store.openKnown(Self.content)
        var read: [UInt8] = []
        while read.count < count {
            read += try await content.read(at: Int64(read.count), count: 100_000)
        }
        #expect(read == Pattern.bytes(count: count))
        let all = stride(from: 0, to: count, by: mebibyte).map {
            "bytes=\($0)-\(min($0 + mebibyte, count) - 1)"
        }
        #expect(ranges.all == all)
        #expect(
            try await content.read(at: 700_000, count: 10)
                == Pattern.bytes(from: 700_000, count: 10))
        #expect(ranges.all == all + ["bytes=700000-700009"])
    }

    @Test(arguments: ["PutObject", "UploadPart"]) @LoopActor
    func `what is forbidden is an error at once, and the part stays`(
        operation: String
    ) async throws {
        let bench = try await Bench(ScriptedS3())
        let before = bench.s3.count(operation)
        bench.s3.spoil { asked, _ in asked == operation ? .answer(403, "AccessDenied") : nil }
        let spool = try await bench.spool(operation == "PutObject" ? 90_000 : 190_000)
        let error = try await #require(throws: FileError.self) { try await spool.finish() }
        #expect(error == FileError("\(operation) 403 AccessDenied", code: EACCES))
        #expect(bench.s3.count(operation) - before <= 2)  // two parts side by side
        #expect(try bench.hasPart() && bench.s3.keys.isEmpty)
        try await eventually("the upload to be forgotten") { bench.s3.uploadCount == 0 }
        // And it can be put when that was mended.
        bench.s3.spoil { _, _ in nil }
        try await bench.put(190_000)
        try await bench.verify(190_000)
    }

    @Test @LoopActor
    func `an object that is replaced under a reader is not mixed with the new one`()
        async throws
    {
        let bench = try await Bench(ScriptedS3())
        try await bench.put(3_000_000)
        let content = try await bench.store.openKnown(Self.content)
        #expect(try await content.read(at: 0, count: 1000) == Pattern.bytes(count: 1000))
        bench.s3.replaceAll(by: [UInt8](repeating: 1, count: 3_000_000))
        let error = try await #require(throws: FileError.self) {
            try await content.read(at: 2_500_000, count: 1000)
        }
        #expect(error.code == ESTALE)
    }

    @Test @LoopActor func `while S3 is away a content waits, and goes there when it is back`()
        async throws
    {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        let isAway = Atomic(true)
        s3.spoil { _, _ in isAway.load(ordering: .relaxed) ? .answer(503, "") : nil }
        let spool = try await bench.spool(350_000)
        let end = LoopActor.start { _ = try await spool.finish() }
        try await eventually("some tries") { s3.count("CreateMultipartUpload") >= 3 }
        #expect(try bench.hasPart())
        isAway.store(false, ordering: .relaxed)
        try await end.value
        try await bench.verify(350_000)
    }

    @Test @LoopActor func `nothing waits for S3 when the gateway stops`() async throws {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        s3.spoil { _, _ in .answer(503, "") }
        let spool = try await bench.spool(50_000)
        let end = LoopActor.start { _ = try await spool.finish() }
        try await eventually("a try") { s3.count("PutObject") >= 3 }
        bench.store.stopWaiting()
        let error = try await #require(throws: FileError.self) { try await end.value }
        #expect(error.code == ECANCELED)
        #expect(try bench.hasPart())
    }

    /// Where S3 refuses each try, and where it does not answer.
    @Test(arguments: [false, true]) @LoopActor
    func `who is cancelled waits for S3 no longer`(isSilent: Bool) async throws {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        try await bench.put(350_000)
        let content = try await bench.store.openKnown(Self.content)
        let gate = Gate()
        defer { gate.open() }
        let reading = Mutex<Task<Void, any Error>?>(nil)
        s3.spoil { _, _ in
            // Before the first answer: tries come to an end by themselves, too.
            reading.withLock { $0?.cancel() }
            return isSilent ? .held(gate) : .answer(503, "")
        }
        // Of what is read in order, and of a piece from the middle.
        for offset in [0, 300_000] as [Int64] {
            let before = s3.count("GetObject")
            let read = LoopActor.start { _ = try await content.read(at: offset, count: 1000) }
            reading.withLock { $0 = read }
            try await eventually("a try") { s3.count("GetObject") > before }
            let error = try await #require(throws: FileError.self) { try await read.value }
            #expect(error.code == ECANCELED)
        }
    }

    @Test @LoopActor func `a content that is removed while it is sent is not there afterwards`()
        async throws
    {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        let hold = Atomic(true)
        s3.spoil { operation, _ in
            operation == "UploadPart" && hold.load(ordering: .relaxed) ? .answer(503, "") : nil
        }
        let spool = try await bench.spool(350_000)
        let end = LoopActor.start { _ = try await spool.finish() }
        try await eventually("a part on its way") { s3.count("UploadPart") >= 1 }
        try await bench.store.remove([Self.content])
        #expect(try await bench.store.open(Self.content) == nil)
        hold.store(false, ordering: .relaxed)
        await #expect(throws: FileError.self) { try await end.value }
        #expect(try !bench.hasPart() && s3.keys.isEmpty)
        try await eventually("the upload to be forgotten") { s3.uploadCount == 0 }
    }

    /// The parts that were sent ahead are copied by S3: their bytes go to it once.
    @Test(arguments: [nil, (501, "NotImplemented"), (404, "NoSuchKey")]) @LoopActor
    func `what was sent ahead is not sent again, unless S3 does not copy it`(
        refusal: (status: Int, code: String)?
    ) async throws {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3, isShared: true)
        let spool = try await bench.spool(350_000)
        let validators = EntityValidators(tag: EntityTag("\"1\""), date: nil)
        let entity = try #require(RangedEntity(validators: validators, total: 350_000))
        let point = try #require(ResumePoint(entity: entity, received: [0..<350_000]))
        guard case .task(let task) = Self.task else { return }
        let series = try #require(
            bench.store.sendAhead(point, of: task, for: TenantID(rawValue: 7), in: nil))
        try await eventually("all stretches") { s3.keys.count == 3 }
        s3.spoil { operation, _ in
            operation == "UploadPartCopy"
                ? refusal.map { .answer($0.status, $0.code) } : nil
        }
        _ = try await spool.finish()
        bench.name = ContentName(Self.task, in: spool.series)
        bench.store.forgetPart(of: Self.task)
        #expect(s3.count("UploadPartCopy") == 3)
        #expect(s3.count("UploadPart") == (refusal == nil ? 1 : 4))
        bench.store.forgetAhead(of: task, in: series)
        try await eventually("the stretches to go") { s3.keys.count == 1 }
        try await bench.verify(350_000)
    }

    @Test @LoopActor
    func `uploads that a lost node has begun are found, and forgotten`() async throws {
        let bench = try await Bench(ScriptedS3())
        bench.s3.leaveUpload(of: "p/" + ContentFolder.name(of: Self.task.id))
        bench.s3.leaveUpload(of: "p/" + ContentName(Self.task, in: 5).path)
        bench.s3.leaveUpload(of: "p/else")
        let found = try await bench.store.list([.ahead])
        #expect(found.map(\.owner) == [Self.task])
        for entry in found { bench.store.discard(entry) }
        try await eventually("one upload") { bench.s3.uploadCount == 1 }
    }

    @Test @LoopActor func `an object that is read goes with its last reader`() async throws {
        let bench = try await Bench(ScriptedS3())
        try await bench.put(50_000)
        var readers = [
            try await bench.store.openKnown(Self.content),
            try await bench.store.openKnown(Self.content),
        ]
        try await bench.store.remove([Self.content])
        #expect(bench.s3.count("DeleteObject") == 0 && bench.s3.keys.count == 1)
        readers.removeLast()
        let bytes = try await readers[0].read(at: 0, count: 50_000)
        #expect(bytes == Pattern.bytes(count: 50_000))
        readers.removeAll()
        try await eventually("the object to go") { bench.s3.keys.isEmpty }
    }

    @Test @LoopActor func `what an earlier process has begun to send is forgotten, and no other's`()
        async throws
    {
        let bench = try await Bench(ScriptedS3())
        bench.s3.leaveUpload(of: "p/" + ContentFolder.name(of: Self.task.id))
        bench.s3.leaveUpload(of: "p/" + ContentName(Self.task, in: 5).path)
        bench.s3.leaveUpload(of: "p/else")
        await bench.contents.forgetOldWork()
        try await eventually("one upload") { bench.s3.uploadCount == 1 }
    }

    @Test @LoopActor func `an upload that S3 does not forget keeps no other one from it`()
        async throws
    {
        let bench = try await Bench(ScriptedS3())
        for _ in 0..<3 { bench.s3.leaveUpload(of: "p/" + ContentFolder.name(of: Self.task.id)) }
        bench.s3.spoil(Self.first(1, "AbortMultipartUpload", .answer(409, "Conflict")))
        await bench.contents.forgetOldWork()
        try await eventually("one upload") { bench.s3.uploadCount == 1 }
        #expect(bench.s3.count("AbortMultipartUpload") == 3)
    }

    @Test(arguments: [(412, "PreconditionFailed", ESTALE), (403, "AccessDenied", EACCES)])
    @LoopActor func `what S3 says of an error may be longer than the bytes that were asked for`(
        status: Int, code: String, expected: CInt
    ) async throws {
        let bench = try await Bench(ScriptedS3())
        try await bench.put(90_000)
        let content = try await bench.store.openKnown(Self.content)
        bench.s3.spoil { asked, _ in asked == "GetObject" ? .answer(status, code) : nil }
        let error = try await #require(throws: FileError.self) {
            try await content.read(at: 70_000, count: 10)
        }
        #expect(error == FileError("GetObject \(status) \(code)", code: expected))
    }

    @Test @LoopActor func `an open that fails takes no other reader's content away`() async throws {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        try await bench.put(90_000)
        // Another process, which has not seen the mark.
        let fresh = try bench.fresh()
        var content = try await fresh.open(Self.content)
        #expect(content != nil)
        s3.spoil { operation, _ in
            ["HeadObject", "GetObject"].contains(operation) ? .answer(404, "NoSuchKey") : nil
        }
        await #expect(throws: FileError.self) { try await fresh.open(Self.content) }
        s3.spoil { _, _ in nil }
        try await fresh.remove([Self.content])
        #expect(s3.keys.count == 1)
        #expect(
            try await content?.read(at: 70_000, count: 10) == Pattern.bytes(from: 70_000, count: 10)
        )
        content = nil
        try await eventually("its removal") { s3.keys.isEmpty }
    }

    @Test @LoopActor
    func `what stays when its last reader has gone is known, until it is put anew`()
        async throws
    {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        for isPutAgain in [false, true] {
            try await bench.put(90_000)
            var content = try await bench.contents.open(Self.content)
            #expect(content != nil)
            try await bench.contents.remove([Self.content])
            s3.spoil { operation, _ in
                operation.hasPrefix("DeleteObject") ? .answer(403, "AccessDenied") : nil
            }
            let count = s3.operations.count
            content = nil
            try await eventually("a try") { s3.operations.count > count }
            #expect(bench.store.owesRemoval(of: Self.content))
            s3.spoil { _, _ in nil }
            if isPutAgain {
                try await bench.put(90_000)
                #expect(!bench.store.owesRemoval(of: Self.content))
            } else {
                let entry = try #require(try await bench.store.list([.whole]).first)
                bench.store.discard(entry)
                try await eventually("its removal") {
                    s3.keys.isEmpty && !bench.store.owesRemoval(of: Self.content)
                }
            }
        }
    }

    @Test @LoopActor func `a bucket that is gone is not taken for one whose contents are`()
        async throws
    {
        let s3 = try ScriptedS3()
        let other = try await Bench(s3)
        // Another process, which has not seen the mark.
        s3.spoil { operation, _ in
            ["HeadObject", "GetObject"].contains(operation) ? .answer(404, "NoSuchBucket") : nil
        }
        let fresh = try other.fresh()
        let store = SplitContentStore(fresh, partsIn: other.folder, files: Self.files)
        var file = StagedFile(
            id: FileID(rawValue: 1), tenant: .operatorTenant, announcedLength: nil,
            expectedDigest: nil, mediaType: nil, createdAt: Timestamp(milliseconds: 0),
            usedAt: KeptTime(milliseconds: 0))
        (file.length, file.isComplete) = (5, true)
        let staged = file
        let findings = await store.removeDamaged(among: [staged])
        #expect(findings.failure is FileError)
        #expect(findings.sound.isEmpty && findings.removed.isEmpty)
        let error = try await #require(throws: UnusablePlace.self) { try await fresh.mark() }
        #expect(error.description.contains("make the bucket bucket"))
    }

    @Test @LoopActor func `credentials that have run out are read again from their file`()
        async throws
    {
        let s3 = try ScriptedS3()
        let directory = try TemporaryDirectory()
        let path = directory.file("credentials")
        func write(_ key: String) throws {
            let text = "[default]\naws_access_key_id=\(key)\naws_secret_access_key=s\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }
        try write("old")
        s3.spoil { _, request in
            request.headers["Authorization"]?.contains("Credential=new/") == true
                ? nil : .answer(403, "ExpiredToken")
        }
        let contents = try S3Contents(
            at: S3Location(s3.place, environment: [:]),
            environment: ["AWS_SHARED_CREDENTIALS_FILE": path],
            transport: CurlTransport(
                CurlSettings(
                    egress: EgressPolicy(allowed: [AllowedDestination(parsing: "127.0.0.0/8")]),
                    userAgent: "tests")),
            digests: SHADigests(), files: Self.files)
        let error = try await #require(throws: UnusablePlace.self) { try await contents.mark() }
        #expect(error.description.contains("correct the credentials"))
        try write("newer-than-that")
        try write("new")
        #expect(try await contents.mark() == nil)
    }
}
