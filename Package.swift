// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A target of ours: one folder under Sources, with the project's language settings.
func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The tests of a target: one folder under Tests.
func proof(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let structuredFields = Target.Dependency.product(
    name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

let package = Package(
    name: "ferry",
    products: [.executable(name: "ferry", targets: ["ferry"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CEvent", pkgConfig: "libevent", providers: [.apt(["libevent-dev"])]),
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        // No pkgConfig: its flags are of a kind that SwiftPM warns about, and Debian needs none.
        .systemLibrary(name: "CGSSAPI", providers: [.apt(["libkrb5-dev"])]),
        .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),

        room("Diagnostics", [logging]),
        room("Syntax"),
        room("Semantics", ["Syntax"]),
        room("JSON", ["Syntax"]),
        room("Loop", ["CEvent"]),
        room("HTTP", ["Syntax", "Loop", "Diagnostics", "CEvent"]),
        room("Engine", ["Semantics", "Loop", "Diagnostics", "JSON", "Syntax", deque, heap]),
        room("Decoding", ["Semantics", "CZlib", "CBrotli", "CZstd"]),
        room(
            "Curl",
            ["Engine", "Semantics", "Syntax", "Loop", "Decoding", "CCurl", "COpenSSL", "CGSSAPI"]),
        room("PSL", ["Engine", "CPSL"]),
        room("SQLiteStore", ["Engine", "Semantics", grdb, grdbSQLite]),
        room("Sealing", ["Engine", "Semantics", "Syntax", crypto]),
        .target(name: "CAssets"),
        room(
            "REST",
            [
                "HTTP", "Engine", "Semantics", "JSON", "Syntax", "Loop", "Diagnostics", "CAssets",
                structuredFields,
            ]),
        room("Client", ["JSON", "Syntax", "CCurl", structuredFields]),
        .executableTarget(
            name: "ferry",
            dependencies: [
                "REST", "HTTP", "Engine", "Semantics", "Curl", "PSL", "SQLiteStore", "Sealing",
                "Client", "Loop", "Diagnostics", argumentParser,
            ],
            swiftSettings: strict),

        .target(
            name: "TestSupport", dependencies: ["Engine", "Semantics", "Loop"],
            path: "Tests/TestSupport", swiftSettings: strict),
        proof("SyntaxTests", ["Syntax", "TestSupport"]),
        proof("JSONTests", ["JSON", "TestSupport"]),
        proof("SemanticsTests", ["Semantics", "Syntax", "Sealing", "TestSupport"]),
        proof("DecodingTests", ["Decoding", "Semantics", "TestSupport"]),
        proof("HTTPTests", ["HTTP", "Loop", "TestSupport"]),
        proof("EngineTests", ["Engine", "Semantics", "Syntax", "Loop", "TestSupport"]),
        proof("CurlTests", ["Curl", "Engine", "Semantics", "Loop", "TestSupport"]),
        proof("PSLTests", ["PSL", "Engine"]),
        proof(
            "StoreTests",
            ["SQLiteStore", "Sealing", "Engine", "Semantics", "Loop", "TestSupport", grdb]),
        proof("ClientTests", ["Client", "JSON", "TestSupport"]),
        proof(
            "GatewayTests",
            [
                "ferry", "REST", "HTTP", "Engine", "Semantics", "Curl", "Sealing", "SQLiteStore",
                "Loop",
                "JSON", "TestSupport", yams, grdb,
            ]),
    ],
    swiftLanguageModes: [.v6]
)
