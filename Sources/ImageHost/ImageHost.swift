package import HTTP
package import Rankings

/// The requests to the image host: sizes, small previews and parts of pictures are asked for here and nowhere else.
///
/// The transport that this is given obeys the host's cool-downs. The slots of pictures are shared out by their cache.
///
/// ## Concurrency
///
/// A value; any task or thread may call. Nothing blocks a thread.
package struct ImageHost: Sendable {
    private let client: HTTPClient
    private let time: TimeSource

    /// A server that ignores the range of a probe sends the whole picture; this is where it is cut off, in bytes.
    private static let probeLimit: Int64 = 64 << 10
    /// Bytes of a preview: 480 x 960 pixels have 150 KB at most.
    private static let longestPreview: Int64 = 1 << 20

    /// - Parameters:
    ///   - client: Sends again what may then be answered.
    ///   - time: Measures deadlines.
    package init(_ client: HTTPClient, time: TimeSource = .system) {
        self.client = client
        self.time = time
    }

    package init(_ transport: any Transport) {
        self.init(HTTPClient(transport: transport))
    }

    /// What may be under way at once.
    package var slots: TransferSlots { transport.limits.bodies }

    /// The way to the network.
    package var transport: any Transport { client.transport }

    /// Connections to be made before pictures are asked for.
    package func connections(to location: PictureLocation) -> WarmConnections {
        WarmConnections(transport, to: location.url, headers: location.headers)
    }

    // MARK: - Sizes

    /// How large a picture is: by HEAD, then by the first byte's range.
    ///
    /// - Parameters:
    ///   - location: Where the picture is.
    ///   - timeout: How long both may take.
    ///   - urgency: Tells when somebody waits for it; nil if somebody does.
    /// - Returns: What the host tells, by whichever of the two.
    package func size(
        at location: PictureLocation, within timeout: Duration, urgency: Urgency? = nil
    ) async -> PictureSize {
        let deadline = time.now() + timeout
        let told = await ask(head(location, deadline), urgency) { PictureSize(head: $0) }
        guard told == .notTold else { return told }
        // It has waited for its turn once; whoever goes through a directory would wait a round trip for each of these.
        urgency?.raise()
        return await ask(
            HTTPRequest(
                url: location.url, headers: location.headers, range: (first: 0, last: 0), transferClass: .metadata,
                deadline: deadline, bodyLimit: Self.probeLimit, purpose: .size), urgency
        ) { PictureSize(firstByte: $0) }
    }

    /// What a HEAD tells, sent again as the client does where that may help, with the status of its last answer, 0 for none.
    package func head(
        of location: PictureLocation, within timeout: Duration
    ) async -> (size: PictureSize, status: Int) {
        do throws(HTTPError) {
            let answer = try await client.send(head(location, time.now() + timeout)).head
            return (PictureSize(head: answer), answer.status)
        } catch {
            return (.failed(SourceError(error)), 0)
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
        do throws(HTTPError) {
            return read(try await client.send(request, urgency: urgency).head)
        } catch {
            return error == .tooLarge ? .notTold : .failed(SourceError(error))
        }
    }

    // MARK: - Pictures

    /// What came of asking for a preview.
    package enum Preview: Sendable {
        case bytes([UInt8])
        /// There is none that can be used: asking again is pointless for now.
        case useless
        /// The network or the host is in trouble.
        case failed
    }

    /// A small preview: goes with the small answers, over connections that many share.
    ///
    /// - Parameters:
    ///   - location: Where the preview is.
    ///   - timeout: How long it may take.
    ///   - priority: Who wants to see it.
    /// - Returns: What came of it.
    package func preview(
        at location: PictureLocation, within timeout: Duration, priority: TransferPriority
    ) async -> Preview {
        do throws(HTTPError) {
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

    /// The request for a part of a picture, or for all of it, to be begun by `begin`.
    ///
    /// - Parameters:
    ///   - segment: The part.
    ///   - sink: The receiver of the answer.
    /// - Returns: The request, which nothing has begun yet.
    package func transfer(of segment: PictureSegment, sink: any ResponseSink) -> Transfer {
        let range = segment.range.map { (first: $0.lowerBound, last: $0.upperBound == .max ? nil : $0.upperBound - 1) }
        return Transfer(
            HTTPRequest(
                url: segment.location.url, headers: segment.location.headers, range: range, ifRange: segment.version,
                priority: segment.priority, transferClass: .bulk, deadline: segment.deadline,
                bodyLimit: PictureLimits.largest), sink: sink)
    }

    /// Sends a request for a part of a picture, once.
    package func begin(_ transfer: Transfer) { transport.begin(transfer) }
}

/// A part of a picture to ask for.
package struct PictureSegment: Sendable {
    package var location: PictureLocation
    /// The bytes wanted; nil for all of them.
    package var range: Range<Int64>?
    /// The version that they must be of; otherwise the whole picture comes.
    package var version: String?
    package var priority: TransferPriority
    /// When all of it must have come.
    package var deadline: ContinuousClock.Instant

    package init(
        location: PictureLocation, range: Range<Int64>?, version: String?, priority: TransferPriority,
        deadline: ContinuousClock.Instant
    ) {
        self.location = location
        self.range = range
        self.version = version
        self.priority = priority
        self.deadline = deadline
    }
}

extension SourceError {
    /// What a failed transfer means for who asked.
    package init(_ error: HTTPError) {
        switch error {
        case .unreachable(let reason), .broken(let reason), .untrusted(let reason): self = .unreachable(reason)
        case .timedOut: self = .timedOut
        case .invalidAnswer(let reason), .redirectRefused(let reason), .refused(let reason): self = .unreadable(reason)
        case .tooLarge: self = .unreadable("the answer is larger than it may be")
        case .limited(let seconds): self = .limited(retryAfter: seconds)
        case .turnedAway(let reason): self = .turnedAway(reason)
        case .exhausted(let reason): self = .exhausted(reason)
        case .offline: self = .offline
        case .cancelled: self = .cancelled
        }
    }
}

// MARK: - Sizes told

/// What the image host says about a picture's size.
package enum PictureSize: Hashable, Sendable {
    /// In bytes.
    case size(Int64)
    /// The host is well but tells no length.
    case notTold
    case failed(SourceError)

    /// Reads the answer to a HEAD.
    package init(head answer: HTTPAnswer) {
        switch answer.status {
        case 200: self = Self.unreadable(answer) ?? Self.told(answer)
        // HEAD is not served here; a range may be.
        case 405, 501: self = .notTold
        default: self = .failed(Self.failure(answer))
        }
    }

    /// Reads the answer to a request for the first byte.
    package init(firstByte answer: HTTPAnswer) {
        switch answer.outcome {
        case .part:
            let total = answer.part == .fact(0..<1) ? answer.total : nil
            self = Self.unreadable(answer) ?? total.map(Self.size(of:)) ?? .notTold
        // The range was ignored; a length told here is the whole picture's.
        case .whole: self = Self.unreadable(answer) ?? Self.told(answer)
        case .beyondTheEnd: self = .notTold
        default: self = .failed(Self.failure(answer))
        }
    }

    /// Nil for an answer that is a picture as it is stored.
    private static func unreadable(_ answer: HTTPAnswer) -> PictureSize? {
        // A login page or an error text with status 200.
        guard let type = answer.mediaType, type.hasPrefix("image/") || archiveTypes.contains(type) else {
            return .failed(.unreadable("the image host did not answer with a picture"))
        }
        return answer.codings.isEmpty ? nil : .notTold
    }

    /// The media types of the archives of animations.
    private static let archiveTypes = ["application/zip", "application/x-zip-compressed", "application/octet-stream"]

    private static func told(_ answer: HTTPAnswer) -> PictureSize {
        switch answer.length {
        case .fact(let length): size(of: length)
        case .absent: .notTold
        case .contradiction(let reason): .failed(.unreadable("the image host contradicts itself: \(reason)"))
        }
    }

    private static func size(of length: Int64) -> PictureSize {
        (1...PictureLimits.largest).contains(length) ? .size(length) : .notTold
    }

    private static func failure(_ answer: HTTPAnswer) -> SourceError {
        switch answer.outcome {
        case .gone: .notFound
        case .limited: .limited(retryAfter: nil)
        case .troubled: .unreachable("the image host answered \(answer.status)")
        default: .unreadable("the image host refused with status \(answer.status)")
        }
    }
}
