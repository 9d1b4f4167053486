import Files
import Glibc
import Loop
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// What an operator has to mend loses nothing meanwhile, and what cannot be seen is not gone.
extension FaultTests {
    private static let codes = [
        (400, "ExpiredToken"), (400, "InvalidToken"), (403, "InvalidAccessKeyId"),
        (403, "SignatureDoesNotMatch"), (403, "RequestTimeTooSkewed"), (404, "NoSuchBucket"),
    ]

    @Test(arguments: codes) @LoopActor
    func `what an operator has to mend is waited for, but not at the start (R-1)`(
        status: Int, code: String
    ) async throws {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        for (count, operation) in [(50_000, "PutObject"), (350_000, "CreateMultipartUpload")] {
            let spool = try await bench.spool(count)
            s3.spoil { _, _ in .answer(status, code) }
            let end = LoopActor.start { _ = try await spool.finish() }
            let before = s3.count(operation)
            try await eventually("some tries") { s3.count(operation) >= before + 3 }
            #expect(try bench.hasPart())
            // A reader does not wait for so long, and takes nothing for gone. (HEAD tells no code.)
            let error = try await #require(throws: FileError.self) {
                try await bench.contents.length(of: Self.content)
            }
            #expect(error.isAway)
            let fresh = try bench.fresh()
            let refusal = try await #require(throws: UnusablePlace.self) { try await fresh.mark() }
            #expect(!refusal.isAway && refusal.description.contains("\(code): "))
            s3.spoil { _, _ in nil }
            try await end.value
            try await bench.verify(count)
        }
    }

    @Test(arguments: ["ListObjectsV2", "ListMultipartUploads", "DeleteObjects"]) @LoopActor
    func `where not even the bucket is found nothing is missing`(operation: String) async throws {
        let bench = try await Bench(ScriptedS3())
        bench.s3.spoil { asked, _ in asked == operation ? .answer(404, "") : nil }
        let error = try await #require(throws: FileError.self) {
            _ = try await bench.contents.list()
            try await bench.contents.remove([Self.content, .file(FileID(rawValue: 1))])
        }
        #expect(error.isAway)
    }

    @Test @LoopActor
    func `what is missing is given up only after a look at the mark as it is now (R-1, R-2)`()
        async throws
    {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        try await bench.put(50_000)
        // The mark was seen a moment ago; now an S3 without anything answers in this one's place.
        s3.spoil { operation, _ in
            switch operation {
            case "HeadObject", "GetObject": .answer(404, "NoSuchKey")
            case "ListObjectsV2": .onlyBody("<ListBucketResult/>")
            default: nil
            }
        }
        #expect(try await bench.store.open(Self.content) == nil, "a reader asks only once")
        guard case .task(let task) = Self.task else { return }
        let validators = EntityValidators(tag: EntityTag("\"1\""), date: nil)
        let entity = try #require(RangedEntity(validators: validators, total: nil))
        let point = try #require(ResumePoint(entity: entity, received: [0..<50_000]))
        let asks: [@LoopActor () async throws -> Void] = [
            { _ = try await bench.contents.length(of: Self.content) },
            { _ = try await bench.contents.stretches(of: task) },
            { try await bench.contents.copy(Self.content, to: .file(FileID(rawValue: 1))) },
        ]
        for ask in asks {
            let error = try await #require(throws: FileError.self) { try await ask() }
            #expect(error.isAway)
        }
        for series: Int64? in [nil, 5] {
            for target in [task, TaskID(rawValue: 8)] {
                let checkpoint = DownloadCheckpoint(point: point, part: task, series: series)
                let error = try await #require(throws: FileError.self) {
                    _ = try await bench.store.takePart(
                        of: checkpoint, in: TenantID(rawValue: 7), as: target
                    ) { _ in true }
                }
                #expect(error.isAway)
            }
        }
        s3.spoil { _, _ in nil }
        try await bench.verify(50_000)
    }

    @Test @LoopActor
    func `a request is signed when it is sent, however long it has waited`() async throws {
        let s3 = try ScriptedS3()
        let clock = SetClock()
        let bench = try await Bench(s3, clock: clock)
        let gate = Gate()
        s3.spoil { operation, _ in operation == "HeadObject" ? .held(gate) : nil }
        let asks = (0..<25).map { number in
            LoopActor.start {
                _ = try await bench.contents.length(of: .task(TaskID(rawValue: number + 10)))
            }
        }
        try await eventually("a request") { s3.count("HeadObject") > 0 }
        clock.advance(by: 20 * 60)
        gate.open()
        for ask in asks { try await ask.value }
        let heads = s3.origin.requests.filter { $0.method == "HEAD" }
        #expect(heads.count == 25)
        let stamps = Set(heads.compactMap { $0.headers["x-amz-date"] })
        #expect(stamps == ["20270115T080000Z", "20270115T082000Z"])
    }
}

/// A clock that stands until it is set.
private final class SetClock: Clock {
    private let seconds = Atomic(1_800_000_000)
    var now: Timestamp {
        Timestamp(milliseconds: Int64(seconds.load(ordering: .relaxed)) * 1000)
    }
    let secondOfDay = 0
    let uptime = Duration.zero
    let machine = MachineTime(boot: "1", elapsed: .zero)

    func advance(by count: Int) { seconds.add(count, ordering: .relaxed) }
}
