import Testing

import Semantics

struct TransferErrorTests {
    /// Foundation's numbers and names (URLError.Code), written down apart from the enumeration.
    static let foundation = [
        ("unknown", -1), ("backgroundSessionRequiresSharedContainer", -995),
        ("backgroundSessionInUseByAnotherProcess", -996),
        ("backgroundSessionWasDisconnected", -997),
        ("cancelled", -999), ("badURL", -1000), ("timedOut", -1001), ("unsupportedURL", -1002),
        ("cannotFindHost", -1003), ("cannotConnectToHost", -1004), ("networkConnectionLost", -1005),
        ("dnsLookupFailed", -1006), ("httpTooManyRedirects", -1007), ("resourceUnavailable", -1008),
        ("notConnectedToInternet", -1009), ("redirectToNonExistentLocation", -1010),
        ("badServerResponse", -1011), ("userCancelledAuthentication", -1012),
        ("userAuthenticationRequired", -1013), ("zeroByteResource", -1014),
        ("cannotDecodeRawData", -1015), ("cannotDecodeContentData", -1016),
        ("cannotParseResponse", -1017), ("requestBodyStreamExhausted", -1021),
        ("appTransportSecurityRequiresSecureConnection", -1022), ("fileDoesNotExist", -1100),
        ("fileIsDirectory", -1101), ("noPermissionsToReadFile", -1102),
        ("dataLengthExceedsMaximum", -1103), ("fileOutsideSafeArea", -1104),
        ("secureConnectionFailed", -1200), ("serverCertificateHasBadDate", -1201),
        ("serverCertificateUntrusted", -1202), ("serverCertificateHasUnknownRoot", -1203),
        ("serverCertificateNotYetValid", -1204), ("clientCertificateRejected", -1205),
        ("clientCertificateRequired", -1206), ("cannotLoadFromNetwork", -2000),
        ("cannotCreateFile", -3000), ("cannotOpenFile", -3001), ("cannotCloseFile", -3002),
        ("cannotWriteToFile", -3003), ("cannotRemoveFile", -3004), ("cannotMoveFile", -3005),
        ("downloadDecodingFailedMidStream", -3006), ("downloadDecodingFailedToComplete", -3007),
    ]

    @Test func `S-61: numbers and names are Foundation's`() {
        #expect(URLErrorCode.allCases.map(\.rawValue) == Self.foundation.map(\.1))
        #expect(URLErrorCode.allCases.map(\.name) == Self.foundation.map(\.0))
        #expect(Set(URLErrorCode.allCases.map(\.sentence)).count == URLErrorCode.allCases.count)
    }

    @Test func `S-61: a kind is found again by domain and number`() {
        for code in URLErrorCode.allCases {
            let kind = TransferError.Kind.url(code)
            #expect(kind.domain == "NSURLErrorDomain")
            #expect(TransferError.Kind(domain: kind.domain, code: kind.code) == kind)
        }
        for code in FerryErrorCode.allCases {
            let kind = TransferError.Kind.ferry(code)
            #expect(TransferError.Kind(domain: kind.domain, code: kind.code) == kind)
        }
        #expect(TransferError.Kind(domain: "NSURLErrorDomain", code: -2) == nil)
        #expect(TransferError.Kind(domain: "FerryErrorDomain", code: 99) == nil)
        #expect(TransferError.Kind(domain: "NSCocoaErrorDomain", code: -1) == nil)
    }

    @Test func `X-1: every denial is the same value, whatever is known of it`() {
        let spoken = TransferError(
            .ferry(.destinationDenied), at: "http://10.0.0.1/", message: "10.0.0.1 is private",
            underlying: .init(layer: .curl, code: 7, message: "10.0.0.1"),
            userInfo: ["a": .string("b")])
        #expect(spoken == .destinationDenied)
        #expect(TransferError.destinationDenied.at("http://10.0.0.1/") == .destinationDenied)
        #expect(TransferError.destinationDenied.adding(.integer(1), for: "x") == .destinationDenied)
        let error = TransferError.destinationDenied
        #expect(
            (error.domain, error.code, error.name) == ("FerryErrorDomain", 1, "destinationDenied"))
    }

    @Test func `a URL is added once, and user info beside what is there`() {
        let error = TransferError.cancelled.at("http://a/").at("http://b/")
        #expect(error.failingURL == "http://a/")
        let more = error.adding(.string("blob"), for: "NSURLSessionDownloadTaskResumeData")
            .adding(.integer(0), for: "NSURLErrorBackgroundTaskCancelledReasonKey")
        #expect(
            more.userInfo == [
                "NSURLSessionDownloadTaskResumeData": .string("blob"),
                "NSURLErrorBackgroundTaskCancelledReasonKey": .integer(0),
            ])
        #expect(more.failingURL == "http://a/")
        #expect(more.code == -999)
    }

    @Test func `S-16, S-17: a time-out names its timer`() {
        #expect(TransferError.timedOut(.request).code == -1001)
        #expect(TransferError.timedOut(.resource).code == -1001)
        #expect(
            TransferError.timedOut(.request).message != TransferError.timedOut(.resource).message)
    }
}
