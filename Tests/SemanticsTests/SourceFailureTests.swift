import Semantics
import Testing

/// When a download turns to its next mirror.
struct SourceFailureTests {
    @Test(arguments: [
        (200, false), (206, false), (304, false), (399, false), (400, true), (401, true),
        (404, true),
        (416, false), (429, true), (503, true), (999, true),
    ])
    func `a status from 400 on is the source's failure, but one about our own range`(
        status: Int, isFailure: Bool
    ) {
        #expect(SourceFailure.isFailure(status: status) == isFailure)
    }

    @Test(arguments: [
        (URLErrorCode.cannotFindHost, true), (.cannotConnectToHost, true),
        (.networkConnectionLost, true), (.timedOut, true), (.serverCertificateUntrusted, true),
        (.badServerResponse, true), (.cancelled, false), (.cannotWriteToFile, false),
        (.cannotOpenFile, false), (.fileDoesNotExist, false), (.requestBodyStreamExhausted, false),
    ])
    func `an error is the source's unless the client, the task or our disk is at fault`(
        code: URLErrorCode, isFailure: Bool
    ) {
        #expect(SourceFailure.isFailure(.url(code)) == isFailure)
    }

    @Test func `a denied destination and a wrong digest are the source's failures too`() {
        #expect(SourceFailure.isFailure(.destinationDenied))
        #expect(SourceFailure.isFailure(TransferError(.ferry(.digestMismatch))))
    }
}
