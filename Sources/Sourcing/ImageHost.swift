package import HTTP
package import Rankings

/// The client of the image host: sizes, small previews and parts of pictures are requested here and nowhere else.
///
/// The transport given to it obeys the host's cool-downs. The cache of pictures distributes their slots.
///
/// ## Concurrency
///
/// A value; any task or thread may call. Nothing blocks a thread.
package struct ImageHost: Sendable {
    private let client: HTTPClient
    private let time: TimeSource

    /// The bytes after which a probe's answer is cut off, since a server that ignores the range sends the whole picture.
    private static let probeLimit: Int64 = 64 << 10
    /// The most bytes of a preview: 480 x 960 pixels have 150 KB at most.
    package static let longestPreview: Int64 = 1 << 20

    /// - Parameters:
    ///   - client: The client, which retries requests that may then be answered.
    ///   - time: The clock of deadlines.
    package init(_ client: HTTPClient, time: TimeSource = .system) {
        self.client = client
        self.time = time
    }

    package init(_ transport: any Transport) {
        self.init(HTTPClient(transport: transport))
    }

    /// The bodies that may be under way at once.
    package var slots: TransferSlots { transport.limits.bodies }

    /// The transport of the requests.
    package var transport: any Transport { client.transport }

    /// Returns the connections to make before pictures are requested.
    package func connections(to location: PictureLocation) -> WarmConnections {
        WarmConnections(transport, to: location.url, headers: location.headers)
    }

    // MARK: - Sizes

    /// Requests the size of a picture: by HEAD, then by the first byte's range.
    ///
    /// - Parameters:
    ///   - location: The location of the picture.
    ///   - timeout: The time limit of both requests.
    ///   - urgency: The urgency of the requests; nil if a reader waits.
    /// - Returns: The size by either of the two requests, or the reason why it is unknown.
    package func size(
        at location: PictureLocation, within timeout: Duration, urgency: Urgency? = nil
    ) async -> PictureSize {
        let deadline = time.now() + timeout
        let told = await ask(head(location, deadline), urgency) { PictureSize(head: $0) }
        guard told == .notTold else { return told }
        // The request has waited for its turn once; a walk through a directory would wait a round trip for each of these.
        urgency?.raise()
        return await ask(
            HTTPRequest(
                url: location.url, headers: location.headers, range: (first: 0, last: 0), transferClass: .metadata,
                deadline: deadline, bodyLimit: Self.probeLimit, purpose: .size), urgency
        ) { PictureSize(firstByte: $0) }
    }

    /// Requests a picture's size by HEAD, with the client's retries; returns it with the status of the last answer, 0 for none.
    package func head(
        of location: PictureLocation, within timeout: Duration
    ) async -> (size: PictureSize, status: Int) {
        do throws(Failure) {
            let answer = try await client.send(head(location, time.now() + timeout)).head
            return (PictureSize(head: answer), answer.status)
        } catch {
            return (.failed(error.ofWhole()), 0)
        }
    }

    private func head(_ location: PictureLocation, _ deadline: ContinuousClock.Instant) -> HTTPRequest {
        HTTPRequest(
            method: .head, url: location.url, headers: location.headers, transferClass: .metadata, deadline: deadline,
            bodyLimit: 0, purpose: .size)
    }

    private func ask(
        _ request: HTTPRequest, _ urgency: Urgency?, read: (HTTPAnswer) -> PictureSize
    ) async -> PictureSize {
        do throws(Failure) {
            return read(try await client.send(request, urgency: urgency).head)
        } catch {
            return error == .tooLarge ? .notTold : .failed(error.ofWhole())
        }
    }

    // MARK: - Pictures

    /// The result of a request for a preview.
    package enum Preview: Sendable {
        case bytes([UInt8])
        /// There is no usable preview: another request is pointless for now.
        case useless
        /// The network or the host is in trouble.
        case failed
    }

    /// Requests a small preview, with the small answers on shared connections.
    ///
    /// - Parameters:
    ///   - location: The location of the preview.
    ///   - timeout: The time limit.
    ///   - priority: The priority of the request.
    /// - Returns: The preview, or the kind of failure.
    package func preview(
        at location: PictureLocation, within timeout: Duration, priority: TransferPriority
    ) async -> Preview {
        do throws(Failure) {
            let response = try await client.send(
                HTTPRequest(
                    url: location.url, headers: location.headers, priority: priority, transferClass: .metadata,
                    deadline: time.now() + timeout, bodyLimit: Self.longestPreview, purpose: .preview))
            switch response.head.outcome {
            case .whole: return .bytes(response.body)
            case .limited, .troubled: return .failed
            default: return .useless
            }
        } catch {
            return error == .tooLarge ? .useless : .failed
        }
    }

    /// Makes the request for a part of a picture, or for all of it, for `begin`.
    ///
    /// - Parameters:
    ///   - range: The bytes of the part; nil for all of them.
    ///   - location: The location of the picture.
    ///   - version: The version that the bytes must belong to; otherwise the whole picture comes.
    ///   - priority: The priority of the request.
    ///   - deadline: The time by which the whole part must have come.
    ///   - longestPause: The longest pause of the host for which a reader waits.
    ///   - sink: The receiver of the answer.
    /// - Returns: The request, not begun yet.
    package func transfer(
        of range: Range<Int64>?, at location: PictureLocation, ifStill version: String?, priority: TransferPriority,
        deadline: ContinuousClock.Instant, longestPause: Duration, sink: any ResponseSink
    ) -> Transfer {
        var request = HTTPRequest(
            url: location.url, headers: location.headers,
            range: range.map { (first: $0.lowerBound, last: $0.upperBound == .max ? nil : $0.upperBound - 1) },
            ifRange: version, priority: priority, transferClass: .bulk, deadline: deadline,
            bodyLimit: PictureLimits.largest)
        request.longestPause = longestPause
        return Transfer(request, sink: sink)
    }

    /// Sends a request for a part of a picture, once.
    package func begin(_ transfer: Transfer) { transport.begin(transfer) }
}

extension Failure {
    /// The failure of a request whose answer is of use only as a whole.
    ///
    /// - Parameter tooLarge: The text for an answer that is larger than the limit.
    /// - Returns: `.unreachable` for an answer that broke off, `.unreadable` for one that makes no sense, else the failure itself.
    func ofWhole(tooLarge: String = "the answer is larger than it may be") -> Failure {
        switch self {
        case .broken(let reason), .untrusted(let reason): .unreachable(reason)
        case .invalidAnswer(let reason), .redirectRefused(let reason), .unsendable(let reason): .unreadable(reason)
        case .tooLarge: .unreadable(tooLarge)
        default: self
        }
    }
}

// MARK: - Picture sizes

/// The size of a picture according to the image host.
package enum PictureSize: Hashable, Sendable {
    /// The size in bytes.
    case size(Int64)
    /// The host answers normally but states no length.
    case notTold
    case failed(Failure)

    /// Reads the answer to a HEAD.
    package init(head answer: HTTPAnswer) {
        switch answer.status {
        case 200: self = Self.unreadable(answer) ?? Self.told(answer.length)
        // HEAD is not supported here; a range may be.
        case 405, 501: self = .notTold
        default: self = .failed(Self.failure(answer))
        }
    }

    /// Reads the answer to a request for the first byte.
    package init(firstByte answer: HTTPAnswer) {
        switch answer.outcome {
        case .part:
            self = Self.unreadable(answer) ?? Self.told(answer.part == 0..<1 ? answer.total : nil)
        // The range was ignored; a length stated here is the whole picture's.
        case .whole: self = Self.unreadable(answer) ?? Self.told(answer.length)
        case .beyondTheEnd: self = .notTold
        default: self = .failed(Self.failure(answer))
        }
    }

    /// The result for an answer that is not a picture as stored; nil for a picture as stored.
    private static func unreadable(_ answer: HTTPAnswer) -> PictureSize? {
        // A login page or an error text with status 200.
        if let type = answer.mediaType, !type.hasPrefix("image/"), !archiveTypes.contains(type) {
            return .failed(.unreadable("the image host did not answer with a picture"))
        }
        return answer.codings.isEmpty ? nil : .notTold
    }

    /// The media types of the archives of animations.
    private static let archiveTypes = ["application/zip", "application/x-zip-compressed"] + anyBytes
    /// The media types of any bytes, the second of which object stores have where none was set.
    package static let anyBytes = ["application/octet-stream", "binary/octet-stream"]

    private static func told(_ length: Int64?) -> PictureSize {
        length.map { (1...PictureLimits.largest).contains($0) ? .size($0) : .notTold } ?? .notTold
    }

    private static func failure(_ answer: HTTPAnswer) -> Failure {
        switch answer.outcome {
        case .gone: .notFound
        case .limited: .limited(retryAfter: nil)
        case .troubled: .answered(status: answer.status)
        default: .unreadable("the image host refused with status \(answer.status)")
        }
    }
}

// MARK: - Shared previews

/// Previews that other machines have requested, which are queried before the image host.
///
/// ## Concurrency
///
/// Any task may call.
package protocol SharedPreviews: Sendable {
    /// A preview that a machine has requested, this one if no other has.
    ///
    /// - Parameters:
    ///   - picture: The picture.
    ///   - rank: The place of its work in the ranking, from 1.
    ///   - listing: The listing that shows it.
    ///   - isWrong: Whether the preview of other machines is of no use, so that the image host's takes its place.
    ///   - ask: Sends the request to the image host.
    /// - Returns: The answer of the image host.
    func preview(
        of picture: PictureID, rank: Int, in listing: ListingKey, isWrong: Bool,
        ask: @Sendable () async -> ImageHost.Preview
    ) async -> ImageHost.Preview
}
