/// The codes of `NSURLErrorDomain`: Foundation's numbers, and its case names as the wire's names
/// (S-61).
///
/// <https://developer.apple.com/documentation/foundation/urlerror/code>
public enum URLErrorCode: Int, CaseIterable, Sendable {
    case unknown = -1
    case backgroundSessionRequiresSharedContainer = -995
    case backgroundSessionInUseByAnotherProcess = -996
    case backgroundSessionWasDisconnected = -997
    case cancelled = -999
    case badURL = -1000
    case timedOut = -1001
    case unsupportedURL = -1002
    case cannotFindHost = -1003
    case cannotConnectToHost = -1004
    case networkConnectionLost = -1005
    case dnsLookupFailed = -1006
    case httpTooManyRedirects = -1007
    case resourceUnavailable = -1008
    case notConnectedToInternet = -1009
    case redirectToNonExistentLocation = -1010
    case badServerResponse = -1011
    case userCancelledAuthentication = -1012
    case userAuthenticationRequired = -1013
    case zeroByteResource = -1014
    case cannotDecodeRawData = -1015
    case cannotDecodeContentData = -1016
    case cannotParseResponse = -1017
    case requestBodyStreamExhausted = -1021
    case appTransportSecurityRequiresSecureConnection = -1022
    case fileDoesNotExist = -1100
    case fileIsDirectory = -1101
    case noPermissionsToReadFile = -1102
    case dataLengthExceedsMaximum = -1103
    case fileOutsideSafeArea = -1104
    case secureConnectionFailed = -1200
    case serverCertificateHasBadDate = -1201
    case serverCertificateUntrusted = -1202
    case serverCertificateHasUnknownRoot = -1203
    case serverCertificateNotYetValid = -1204
    case clientCertificateRejected = -1205
    case clientCertificateRequired = -1206
    case cannotLoadFromNetwork = -2000
    case cannotCreateFile = -3000
    case cannotOpenFile = -3001
    case cannotCloseFile = -3002
    case cannotWriteToFile = -3003
    case cannotRemoveFile = -3004
    case cannotMoveFile = -3005
    case downloadDecodingFailedMidStream = -3006
    case downloadDecodingFailedToComplete = -3007

    /// Foundation's name of the case, such as `cannotFindHost`.
    public var name: String { String(describing: self) }

    /// One sentence for a person.
    public var sentence: String {
        switch self {
        case .unknown: "An unknown error occurred."
        case .backgroundSessionRequiresSharedContainer:
            "The background session needs a place to keep its files."
        case .backgroundSessionInUseByAnotherProcess:
            "The background session is in use by another process."
        case .backgroundSessionWasDisconnected:
            "The gateway stopped while the transfer was running."
        case .cancelled: "The task was cancelled."
        case .badURL: "The URL is malformed."
        case .timedOut: "The request timed out."
        case .unsupportedURL: "The URL's scheme is not supported."
        case .cannotFindHost: "A server with the specified host name could not be found."
        case .cannotConnectToHost: "Could not connect to the server."
        case .networkConnectionLost: "The network connection was lost."
        case .dnsLookupFailed: "The host name could not be looked up."
        case .httpTooManyRedirects: "There were too many redirects."
        case .resourceUnavailable: "The resource is unavailable."
        case .notConnectedToInternet: "There is no route to the server's network."
        case .redirectToNonExistentLocation: "The redirect leads nowhere."
        case .badServerResponse: "The server's response contradicts the protocol or the request."
        case .userCancelledAuthentication: "The authentication was cancelled."
        case .userAuthenticationRequired: "The server requires authentication."
        case .zeroByteResource: "The server promised content and sent none."
        case .cannotDecodeRawData: "The content is damaged in its content coding."
        case .cannotDecodeContentData: "The content coding is unknown."
        case .cannotParseResponse: "The server's response could not be parsed."
        case .requestBodyStreamExhausted: "The request's body could not be supplied."
        case .appTransportSecurityRequiresSecureConnection:
            "A secure connection is required, and the request would leave it."
        case .fileDoesNotExist: "The file does not exist."
        case .fileIsDirectory: "The file is a directory."
        case .noPermissionsToReadFile: "The file must not be read."
        case .dataLengthExceedsMaximum: "The content is longer than the limit."
        case .fileOutsideSafeArea: "The file is outside of the area that is allowed."
        case .secureConnectionFailed: "A secure connection could not be made."
        case .serverCertificateHasBadDate: "The server's certificate has expired."
        case .serverCertificateUntrusted: "The server's certificate is not trusted."
        case .serverCertificateHasUnknownRoot:
            "The server's certificate was issued by an unknown authority."
        case .serverCertificateNotYetValid: "The server's certificate is not yet valid."
        case .clientCertificateRejected: "The client's certificate was rejected."
        case .clientCertificateRequired: "The server requires a client certificate."
        case .cannotLoadFromNetwork: "The content must come from the cache, which does not have it."
        case .cannotCreateFile: "The file could not be created."
        case .cannotOpenFile: "The file could not be opened."
        case .cannotCloseFile: "The file could not be closed."
        case .cannotWriteToFile: "The file could not be written."
        case .cannotRemoveFile: "The file could not be removed."
        case .cannotMoveFile: "The file could not be moved."
        case .downloadDecodingFailedMidStream: "The download could not be decoded midway."
        case .downloadDecodingFailedToComplete: "The download could not be decoded to its end."
        }
    }
}

/// The codes of Ferry's own domain, `FerryErrorDomain`, for what Foundation has no word for.
public enum FerryErrorCode: Int, CaseIterable, Sendable {
    /// The egress policy forbids the destination.
    case destinationDenied = 1
    /// The content is not the one that `expectedDigest` names.
    case digestMismatch = 2

    /// The name of the case.
    public var name: String { String(describing: self) }

    /// One sentence for a person.
    public var sentence: String {
        switch self {
        case .destinationDenied: "The gateway's policy does not allow this destination."
        case .digestMismatch: "The content does not have the expected digest."
        }
    }
}
