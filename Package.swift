// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// What runs once for a command, or waits for others most of its time, is built to be small.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// What tests spend most of their time in, and nobody looks at in a debugger.
let quick: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// A target of ours: one folder under Sources, with the project's language settings.
func library(
    _ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = []
) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict + settings)
}

/// The tests of a target: one folder under Tests.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The commit that is built, as the Makefile tells it: a tarball knows of none.
let commit = (Context.environment["FERRY_COMMIT"] ?? "")
    .filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }

let argumentParser = Target.Dependency.product(
    name: "ArgumentParser", package: "swift-argument-parser")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let structuredFields = Target.Dependency.product(
    name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

/// The fuzz targets, which need flags of their own: Tests/Fuzz/run builds them.
let fuzz: [Target] =
    Context.environment["FERRY_FUZZ"] == nil
    ? []
    : [
        .executableTarget(
            name: "fuzz",
            dependencies: ["HTTP", "Engine", "Semantics", "Curl", "JSON", "Syntax", "Loop"],
            path: "Tests/Fuzz/Sources", swiftSettings: strict)
    ]

let package = Package(
    name: "ferry",
    products: [.executable(name: "ferry", targets: ["ferry"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", exact: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
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
        .systemLibrary(
            name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(
            name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(
            name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),

        library("Diagnostics", ["JSON", "Syntax", logging]),
        library("Metrics"),
        library("Syntax"),
        library("Semantics", ["Syntax"]),
        library("JSON", ["Syntax"]),
        library("Contract", ["Semantics", "JSON", "Syntax"]),
        library("Files"),
        library("Loop", ["Files", "Metrics", "CEvent", deque]),
        library("TLS", ["Syntax", "COpenSSL"]),
        library(
            "HTTP",
            [
                "Syntax", "Files", "Loop", "TLS", "Diagnostics", "Metrics", "CEvent", "CNghttp2",
            ]),
        library(
            "Engine",
            [
                "Semantics", "Contract", "Files", "Loop", "Diagnostics", "Metrics", "JSON",
                "Syntax", "CLinux",
                deque,
                heap,
            ]),
        library("Decoding", ["Semantics", "CZlib", "CBrotli", "CZstd"]),
        library(
            "Curl",
            [
                "Engine", "Semantics", "Syntax", "Files", "Loop", "Decoding", "CCurl", "COpenSSL",
                "CGSSAPI", deque,
            ]),
        library("PSL", ["Engine", "CPSL"]),
        library("Records", ["Engine", "Semantics", "Diagnostics"]),
        library(
            "SQLiteStore",
            ["Engine", "Semantics", "Records", "Diagnostics", "CSQLite", grdb, grdbSQLite]),
        library(
            "PostgresStore",
            ["Engine", "Semantics", "Records", "Loop", "Diagnostics", "CPostgres"], small),
        library(
            "S3ContentStore",
            [
                "Engine", "Semantics", "JSON", "Syntax", "Files", "Loop", "Diagnostics", "CExpat",
                deque,
            ], small),
        library("Sealing", ["Engine", "Semantics", "Syntax", "Files", "COpenSSL"]),
        .target(
            name: "CAssets", exclude: ["page"],
            cSettings: commit.isEmpty ? [] : [.define("FERRY_COMMIT", to: "\"\(commit)\"")]),
        .target(name: "CEmptyICU"),
        .target(name: "CHeap"),
        library(
            "REST",
            [
                "HTTP", "Engine", "Contract", "Semantics", "JSON", "Syntax", "Files", "Loop",
                "Diagnostics", "Metrics", "TLS", "CAssets", structuredFields, yams,
            ]),
        library("Client", ["JSON", "Syntax", "Files", "CCurl", structuredFields], small),
        .executableTarget(
            name: "ferry",
            dependencies: [
                "REST", "HTTP", "Engine", "Semantics", "Curl", "PSL", "SQLiteStore",
                "PostgresStore", "Records", "S3ContentStore", "Sealing", "Client", "Files", "Loop",
                "TLS", "Diagnostics", "CAssets",
                "CEmptyICU", "CHeap", argumentParser,
            ],
            swiftSettings: strict + small,
            // Instead of the C library's heap: a small task costs an eighth less.
            linkerSettings: [.linkedLibrary("jemalloc")]),

        .target(
            name: "TestSupport", dependencies: ["Engine", "Semantics", "Loop"],
            path: "Tests/TestSupport", swiftSettings: strict + quick),
        tests("MetricsTests", ["Metrics", "TestSupport"]),
        tests("DiagnosticsTests", ["Diagnostics", "JSON", "TestSupport"]),
        tests("SyntaxTests", ["Syntax", "TestSupport"]),
        tests("FilesTests", ["Files", "TestSupport"]),
        tests("JSONTests", ["JSON", "TestSupport"]),
        tests("SemanticsTests", ["Semantics", "Syntax", "Sealing", "TestSupport"]),
        tests("DecodingTests", ["Decoding", "Semantics", "TestSupport"]),
        tests("TLSTests", ["TLS", "TestSupport"]),
        tests("HTTPTests", ["HTTP", "Files", "Loop", "TLS", "Metrics", "TestSupport"]),
        tests(
            "EngineTests",
            [
                "Engine", "S3ContentStore", "Curl", "Sealing", "Semantics", "Syntax", "Files",
                "Loop", "Metrics", "TestSupport",
            ]),
        tests("CurlTests", ["Curl", "Engine", "Semantics", "Files", "Loop", "TestSupport"]),
        tests(
            "S3Tests",
            [
                "S3ContentStore", "Engine", "Curl", "Sealing", "Semantics", "JSON", "Files", "Loop",
                "TestSupport",
            ]),
        tests("PSLTests", ["PSL", "Engine"]),
        tests(
            "StoreTests",
            [
                "SQLiteStore", "PostgresStore", "Records", "Sealing", "Engine", "Semantics",
                "Syntax",
                "Loop",
                "TestSupport",
                grdb,
            ]),
        tests("ClientTests", ["Client", "JSON", "TestSupport"]),
        tests(
            "GatewayTests",
            [
                "ferry", "REST", "HTTP", "Engine", "Contract", "Semantics", "Curl", "Sealing",
                "SQLiteStore",
                "Loop", "TLS",
                "JSON", "TestSupport", yams, grdb,
            ]),
    ] + fuzz,
    swiftLanguageModes: [.v6]
)
