import Engine
import Semantics
import Testing

/// Staged files, and the limits that a client sets; every store passes.
@Suite struct StagedFileTests {
    @Test(arguments: StoreKind.allCases)
    func `a staged file is loaded as it was saved last, in the order of creation`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let digest = ContentDigest(algorithm: .sha512, bytes: Array(repeating: 3, count: 64))
            var files = [
                world.makeFile(),
                world.makeFile(
                    of: World.bob, announcedLength: 1 << 40, expectedDigest: digest,
                    mediaType: "text/plain; charset=utf-8"),
                world.makeFile(announcedLength: 0, mediaType: ""),
            ]
            var batch = StoreBatch()
            batch.files = files.reversed()
            try await store.commit(batch)
            #expect(try await store.load().files == files)
            world.tick()
            files[0].length = .max
            files[0].usedAt = world.keptInstant
            files[0].expectedDigest = digest
            files[1].isComplete = true
            files[1].expectedDigest = nil
            // A length that was not told at the beginning.
            let late = files[2]
            files[2] = StagedFile(
                id: late.id, tenant: late.tenant, announcedLength: 77, expectedDigest: nil,
                mediaType: late.mediaType, createdAt: late.createdAt, usedAt: late.usedAt)
            batch.files = files
            try await store.commit(batch)
            #expect(try await store.load().files == files)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a removed file is gone, and its number is not given again`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let files = [world.makeFile(), world.makeFile(), world.makeFile()]
            var batch = StoreBatch()
            batch.files = files
            try await store.commit(batch)
            #expect(try await store.load().lastIdentifier == files[2].id.rawValue)
            batch = StoreBatch()
            // Made and removed before it was ever written.
            batch.files = [world.makeFile()]
            batch.removedFiles = [files[0].id, files[2].id, batch.files[0].id]
            try await store.commit(batch)
            #expect(try await store.load().files == [files[1]])
            #expect(try await store.load().lastIdentifier == batch.files[0].id.rawValue)
            // Whose time it is to go the engine says.
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            #expect(try await store.load().files == [files[1]])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the number of a decision is not given again`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            let decision = DecisionNotice(
                id: DecisionID(rawValue: world.nextIdentifier()), kind: .bodyStream,
                deadline: world.instant)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            batch.events = [
                world.event(.needNewBodyStream(generation: 1, decision: decision), of: task)
            ]
            try await store.commit(batch)
            #expect(try await store.load().lastIdentifier == decision.id.rawValue)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `whether work begins that may be put off stays until it is changed (S-27)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            #expect(try await store.load().backgroundUpdates)
            for (change, isOn) in [(false, false), (nil, false), (true, true), (nil, true)] {
                var batch = StoreBatch()
                batch.backgroundUpdates = change
                batch.gatewayLimit = .some(1)
                try await store.commit(batch)
                #expect(try await store.load().backgroundUpdates == isOn)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the gateway's limit stays until it is changed or taken away`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            for (change, limit) in [
                (Int64??.some(7), Int64?.some(7)), (.none, 7), (.some(.max), .max),
                (.some(nil), nil), (.none, nil),
            ] {
                var world = World()
                var batch = StoreBatch()
                batch.gatewayLimit = change
                batch.files = [world.makeFile()]
                try await store.commit(batch)
                #expect(try await store.load().gatewayLimit == limit)
            }
        }
    }
}
