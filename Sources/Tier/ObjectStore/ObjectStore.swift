package import Rankings
internal import Glibc
package import HTTP
import System

/// A store with the S3 API, as far as it is needed: whole objects, conditions and lists.
///
/// Requests are sent once, without retries: the caller handles failures.
///
/// ## Concurrency
///
/// A value; any task may call. Cancelling the task cancels the request.
package struct ObjectStore: Sendable {
    package let place: StorePlace
    package let keys: KeyRing
    /// The secret of the machines that share the store; nil where every writer is trusted.
    let secret: ObjectSecret?
    package let transport: any Transport
    private let client: HTTPClient
    private let clock: StoreClock

    /// Makes the client of a store.
    ///
    /// - Parameters:
    ///   - place: The place of the objects.
    ///   - keys: The credentials.
    ///   - secret: The secret by which machines recognise what others of them wrote; nil where every writer is trusted.
    ///   - transport: The transport of the requests.
    ///   - time: The clock of deadlines.
    ///   - wallClock: Returns this machine's time in Unix seconds, which may be wrong.
    package init(
        _ place: StorePlace, keys: KeyRing, secret: ObjectSecret? = nil, transport: any Transport,
        time: TimeSource = .system,
        wallClock: @escaping @Sendable () -> Int64 = TimeSource.wallClock
    ) {
        self.place = place
        self.keys = keys
        self.secret = secret
        self.transport = transport
        client = HTTPClient(transport: transport, policy: .once, time: time)
        clock = StoreClock(time: time, wallClock: wallClock)
    }

    /// The store's clock in Unix seconds; nil before the first date from the store.
    package var now: Int64? { clock.now }

    /// The result of a request for an object.
    package enum Found: Sendable {
        case object(HTTPResponse)
        /// The object is unchanged since the caller's copy.
        case unchanged
        case absent
    }

    /// A condition under which an object is written.
    package enum Condition: Sendable {
        case always
        /// No object has this key yet.
        case isNew
        /// The object has this ETag.
        case isStill(String)
    }

    /// Fetches an object.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - etag: The ETag of the caller's copy.
    ///   - receiver: The receiver of its bytes; nil to keep them in memory.
    ///   - limit: The largest accepted object, in bytes.
    ///   - urgency: The urgency of the request; nil if a reader waits.
    ///   - deadline: The time at which the request fails.
    /// - Returns: The object, or its state.
    /// - Throws: The reason why the store did not answer.
    package func get(
        _ key: ObjectKey, unless etag: String? = nil, into receiver: (any BodyReceiver)? = nil, limit: Int64,
        urgency: Urgency? = nil, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Found {
        var request = request(.get, place.url(of: key), limit: limit, deadline: deadline)
        if receiver != nil { request.transferClass = .bulk }
        if let etag { request.headers.append("If-None-Match: \(etag)") }
        let answer = try await send(request, urgency: urgency, into: receiver)
        switch answer.head.status {
        case 200: return .object(answer)
        case 304 where etag != nil: return .unchanged
        case 404 where answer.namesKey: return .absent
        default: throw Failure(status: answer.head.status, body: answer.body)
        }
    }

    /// Returns whether there is an object, without its bytes.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - deadline: The time at which the request fails.
    /// - Returns: Whether there is one.
    /// - Throws: The reason why the store did not answer.
    func has(_ key: ObjectKey, deadline: ContinuousClock.Instant) async throws(Failure) -> Bool {
        var request = request(.head, place.url(of: key), limit: Self.longestError, deadline: deadline)
        request.priority = .preload
        let answer = try await send(request)
        guard answer.head.status == 200 || answer.head.status == 404 else {
            throw Failure(status: answer.head.status, body: answer.body)
        }
        return answer.head.status == 200
    }

    /// Writes an object, all of it or nothing.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - content: Its bytes.
    ///   - description: The metadata stored with it.
    ///   - condition: The condition under which it is written.
    ///   - transferClass: The class of the transfer; pictures are bodies.
    ///   - deadline: The time at which the request fails.
    /// - Returns: The head of the answer, with an ETag if the store states one; nil if the condition does not hold.
    /// - Throws: The reason why the store did not write it.
    package func put(
        _ key: ObjectKey, _ content: RequestContent, _ description: ObjectDescription,
        if condition: Condition = .always,
        transferClass: TransferClass = .metadata, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> HTTPAnswer? {
        var request = request(.put, place.url(of: key), limit: Self.longestError, deadline: deadline)
        request.transferClass = transferClass
        request.priority = transferClass == .bulk ? .preload : .reader
        request.content = content
        request.headers += description.headers(secret)
        switch condition {
        case .always: break
        case .isNew: request.headers.append("If-None-Match: *")
        case .isStill(let etag): request.headers.append("If-Match: \(etag)")
        }
        let answer = try await send(request)
        switch answer.head.status {
        case 200, 201, 204: return answer.head
        // 409: two writes at once (Amazon S3 User Guide, "Conditional writes").
        case 412, 409: return nil
        default:
            let failure = Failure(status: answer.head.status, body: answer.body)
            // The object is gone.
            if case .isStill = condition, answer.head.status == 404, failure != .noBucket { return nil }
            throw failure
        }
    }

    /// Writes an object anew from itself, within the store: its bytes do not travel, and it is as old as a new one.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - description: Its metadata, which a copy onto itself must state again (Amazon S3 API Reference, "CopyObject").
    ///   - etag: The ETag of the object that they describe; another one stays as it is.
    ///   - deadline: The time at which the request fails.
    /// - Returns: Whether the store can do it; an object that is gone or another one by now is not written.
    /// - Throws: The reason why the store did not write it.
    package func renew(
        _ key: ObjectKey, _ description: ObjectDescription, if etag: String, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Bool {
        var request = request(.put, place.url(of: key), limit: Self.longestError, deadline: deadline)
        request.priority = .preload
        request.headers += description.headers(secret)
        request.headers += ["x-amz-copy-source: \(place.path(of: key))", "x-amz-metadata-directive: REPLACE"]
        request.headers.append("x-amz-copy-source-if-match: \(etag)")
        let answer = try await send(request)
        switch answer.head.status {
        // An error may come after a status of success.
        case 200 where !String(decoding: answer.body, as: UTF8.self).contains("<Error>"), 404, 412: return true
        case 400 where !Failure.refusesKeys(answer.body), 405, 501: return false
        default: throw Failure(status: answer.head.status, body: answer.body)
        }
    }

    /// Removes an object; a missing object counts as removed.
    package func delete(_ key: ObjectKey, deadline: ContinuousClock.Instant) async throws(Failure) {
        let answer = try await send(request(.delete, place.url(of: key), limit: Self.longestError, deadline: deadline))
        guard [200, 202, 204, 404].contains(answer.head.status) else {
            throw Failure(status: answer.head.status, body: answer.body)
        }
    }

    /// The most bytes that are read of an answer with an error.
    static let longestError: Int64 = 64 << 10

    /// Makes a request that is not signed yet.
    func request(
        _ method: HTTPRequest.Method, _ url: String, limit: Int64, deadline: ContinuousClock.Instant
    ) -> HTTPRequest {
        // Some stores require it on every request, and libcurl 7.88 adds it to none.
        var headers = ["x-amz-content-sha256: " + (method == .put ? Self.unsignedContent : Self.hashOfNothing)]
        if let owner = place.owner { headers.append("x-amz-expected-bucket-owner: \(owner)") }
        var request = HTTPRequest(
            method: method, url: url, headers: headers,
            transferClass: .metadata, deadline: deadline, bodyLimit: max(limit, Self.longestError), purpose: .tier)
        request.followsRedirects = false
        return request
    }

    /// The hash in place of that of the content, which its reader verifies.
    private static let unsignedContent = "UNSIGNED-PAYLOAD"
    /// SHA-256 of no bytes.
    private static let hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// Sends a request, and once more with other keys if the store refused those that it was signed with.
    func send(
        _ request: HTTPRequest, urgency: Urgency? = nil, into receiver: (any BodyReceiver)? = nil
    ) async throws(Failure) -> HTTPResponse {
        let keys = try await keys.current(by: request.deadline)
        let answer = try await send(request, keys, urgency, receiver)
        guard (400...403).contains(answer.head.status), Failure.refusesKeys(answer.body),
            let others = try await self.keys.others(than: keys, by: request.deadline)
        else { return answer }
        return try await send(request, others, urgency, receiver)
    }

    /// Sends a request, and once more with the store's time if this machine's was refused.
    ///
    /// Stores have several words for that, and some have none: the test is whether the store has stated another time.
    private func send(
        _ request: HTTPRequest, _ keys: StoreKeys, _ urgency: Urgency?, _ receiver: (any BodyReceiver)?
    ) async throws(Failure) -> HTTPResponse {
        let (first, time) = signed(request, keys)
        let answer = try await client.send(first, urgency: urgency, into: receiver)
        clock.heard(answer.head)
        guard (400...403).contains(answer.head.status), !StoreClock.agree(clock.signing, time) else {
            return answer
        }
        return try await client.send(signed(request, keys).request, urgency: urgency, into: receiver)
    }

    private func signed(_ request: HTTPRequest, _ keys: StoreKeys) -> (request: HTTPRequest, signed: Int64) {
        var (request, time) = (request, clock.signing)
        if let token = keys.sessionToken { request.headers.append("x-amz-security-token: \(token)") }
        request.headers += keys.headers(signing: request, for: place.region, at: time) ?? []
        return (request, time)
    }
}

extension HTTPResponse {
    /// Whether the store says that it has no object of this key; a front without a store behind it answers 404 to anything.
    fileprivate var namesKey: Bool { Failure.code(in: body) == "NoSuchKey" }
}
