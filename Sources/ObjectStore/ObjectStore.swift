internal import Glibc
package import HTTP

/// A store that speaks the S3 API, as much of it as is needed: whole objects, conditions and lists.
///
/// Asked once and not again: what follows from a failure is for the caller to decide.
///
/// ## Concurrency
///
/// A value; any task may call. Cancelling the task cancels the request.
package struct ObjectStore: Sendable {
    /// What all metadata of ours is named with.
    static let metadataPrefix = "x-amz-meta-rankfs-"

    package let place: StorePlace
    let keys: StoreKeys
    package let transport: any Transport
    private let client: HTTPClient
    private let clock: StoreClock

    /// - Parameters:
    ///   - place: Where objects are.
    ///   - keys: Whose.
    ///   - transport: The way to the network.
    ///   - time: Measures deadlines.
    ///   - wallClock: Unix seconds of this machine, which may be wrong.
    package init(
        _ place: StorePlace, keys: StoreKeys, transport: any Transport, time: TimeSource = .system,
        wallClock: @escaping @Sendable () -> Int64 = { Int64(Glibc.time(nil)) }
    ) {
        self.place = place
        self.keys = keys
        self.transport = transport
        client = HTTPClient(transport: transport, policy: .once, time: time)
        clock = StoreClock(time: time, wallClock: wallClock)
    }

    /// The store's clock in Unix seconds, as far as it has told.
    package var now: Int64? { clock.now }

    /// What asking for an object found.
    package enum Found: Sendable {
        case object(StoredObject)
        /// It is still the one that the caller has.
        case unchanged
        case absent
    }

    /// Whether an object is to be written only if another is, or is not, there.
    package enum Condition: Sendable {
        case always
        /// Nothing has this key yet.
        case isNew
        /// The object has this ETag.
        case isStill(String)
    }

    /// Fetches an object.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - etag: Of the one that the caller has.
    ///   - limit: The largest one that is taken, in bytes.
    ///   - deadline: When to give up.
    /// - Returns: What is there.
    /// - Throws: Why the store did not answer.
    package func get(
        _ key: ObjectKey, unless etag: String? = nil, limit: Int64, deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Found {
        var request = request(.get, place.url(of: key), limit: limit, deadline: deadline)
        if let etag { request.headers.append("If-None-Match: \(etag)") }
        let answer = try await send(request)
        switch answer.head.status {
        case 200: return .object(StoredObject(answer))
        case 304: return .unchanged
        case 404 where !answer.namesBucket: return .absent
        default: throw StoreError(status: answer.head.status, body: answer.body)
        }
    }

    /// Writes an object, all of it or nothing.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - content: Its bytes.
    ///   - description: What goes with it.
    ///   - condition: When to write it.
    ///   - transferClass: Pictures are bodies.
    ///   - deadline: When to give up.
    /// - Returns: Its ETag if it was written and the store tells one; nil if the condition does not hold.
    /// - Throws: Why the store did not do it.
    package func put(
        _ key: ObjectKey, _ content: RequestContent, _ description: ObjectDescription,
        if condition: Condition = .always,
        transferClass: TransferClass = .metadata, deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Written? {
        var request = request(.put, place.url(of: key), limit: Self.longestError, deadline: deadline)
        request.transferClass = transferClass
        request.priority = transferClass == .bulk ? .preload : .reader
        request.content = content
        request.headers += description.headers + ["Content-Type: \(description.mediaType)"]
        switch condition {
        case .always: break
        case .isNew: request.headers.append("If-None-Match: *")
        case .isStill(let etag): request.headers.append("If-Match: \(etag)")
        }
        let answer = try await send(request)
        switch answer.head.status {
        case 200, 201, 204: return Written(etag: answer.head.etag)
        // 409: two at once (Amazon S3 User Guide, "Conditional writes"); 404: what should still be there is gone.
        case 412, 409: return nil
        case 404 where !answer.namesBucket: return nil
        default: throw StoreError(status: answer.head.status, body: answer.body)
        }
    }

    /// What a store says of an object that it has written.
    package struct Written: Sendable {
        package let etag: String?
    }

    /// Removes an object; one that is not there is removed.
    package func delete(_ key: ObjectKey, deadline: ContinuousClock.Instant) async throws(StoreError) {
        let answer = try await send(request(.delete, place.url(of: key), limit: Self.longestError, deadline: deadline))
        guard [200, 202, 204, 404].contains(answer.head.status) else {
            throw StoreError(status: answer.head.status, body: answer.body)
        }
    }

    /// A request for a whole object whose bytes are to go elsewhere than into memory.
    ///
    /// Who sends it reports the head of its answer with `heard`.
    ///
    /// - Returns: The request, signed, and the time that its signature names.
    package func request(
        for key: ObjectKey, limit: Int64, priority: TransferPriority, deadline: ContinuousClock.Instant
    ) -> (request: HTTPRequest, signed: Int64) {
        var request = request(.get, place.url(of: key), limit: limit, deadline: deadline)
        request.transferClass = .bulk
        request.priority = priority
        return signed(request)
    }

    /// Takes the store's date from an answer.
    package func heard(_ head: HTTPAnswer) { clock.heard(head) }

    /// Whether an answer refuses a request for the time of its signature, so that another one would be taken.
    ///
    /// Stores have several words for it, and some have none: what counts is that the store has told another time.
    package func refusesTime(status: Int, signed: Int64) -> Bool {
        (400...403).contains(status) && !StoreClock.agree(clock.signing.seconds, signed)
    }

    /// Bytes that are read of an answer that tells an error.
    static let longestError: Int64 = 64 << 10

    /// A request that is still to be signed.
    func request(
        _ method: HTTPRequest.Method, _ url: String, limit: Int64, deadline: ContinuousClock.Instant
    ) -> HTTPRequest {
        // Some stores want it of every request, and libcurl 7.88 sends it with none.
        var headers = ["x-amz-content-sha256: " + (method == .put ? Self.unsignedContent : Self.hashOfNothing)]
        if let token = keys.sessionToken { headers.append("x-amz-security-token: \(token)") }
        var request = HTTPRequest(
            method: method, url: url, headers: headers,
            transferClass: .metadata, deadline: deadline, bodyLimit: max(limit, Self.longestError), purpose: .tier)
        request.followsRedirects = false
        return request
    }

    /// What is sent is checked by its reader.
    private static let unsignedContent = "UNSIGNED-PAYLOAD"
    /// SHA-256 of no bytes.
    private static let hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// Sends a request, and once more with the store's time if this machine's was refused.
    func send(_ request: HTTPRequest) async throws(StoreError) -> HTTPResponse {
        let (first, time) = signed(request)
        do throws(HTTPError) {
            let answer = try await client.send(first)
            clock.heard(answer.head)
            guard refusesTime(status: answer.head.status, signed: time) else { return answer }
            return try await client.send(signed(request).request)
        } catch { throw StoreError(error) }
    }

    /// A request with its signature, by libcurl if this machine's clock is right.
    private func signed(_ request: HTTPRequest) -> (request: HTTPRequest, signed: Int64) {
        var request = request
        let (time, isOwn) = clock.signing
        if isOwn {
            request.signature = keys.signature(for: place.region)
        } else {
            // Not both: libcurl would take the other one for a question that is still open, and send a PUT without its content first.
            request.headers += TimedSignature(keys: keys, region: place.region).headers(for: request, at: time) ?? []
        }
        return (request, time)
    }
}

extension HTTPResponse {
    /// Whether it is the bucket that is not there.
    fileprivate var namesBucket: Bool {
        StoreError(status: head.status, body: body) == .noBucket
    }
}

// MARK: - Stored object

/// What goes with an object besides its bytes.
package struct ObjectDescription: Hashable, Sendable {
    package var mediaType: String
    /// Bytes of the object, told apart from what the store counts.
    package var length: Int64
    /// XXH3 of all bytes, 16 hexadecimal digits.
    package var hash: String
    /// The key that it was written under: a copy under another one is not what it says.
    package var key: String

    package init(mediaType: String, length: Int64, hash: String, key: ObjectKey) {
        self.init(mediaType: mediaType, length: length, hash: hash, key: key.text)
    }

    private init(mediaType: String, length: Int64, hash: String, key: String) {
        self.mediaType = mediaType
        self.length = length
        self.hash = hash
        self.key = key
    }

    /// Reads it back; nil for an object that somebody else wrote.
    package init?(_ head: HTTPAnswer) {
        let prefix = ObjectStore.metadataPrefix
        guard let length = head[prefix + "length"].flatMap({ Int64($0) }), length >= 0,
            let hash = head[prefix + "hash"],
            hash.utf8.count == 16, let key = head[prefix + "key"]
        else { return nil }
        self.init(mediaType: head.contentType ?? "", length: length, hash: hash, key: key)
    }

    var headers: [String] {
        [("length", "\(length)"), ("hash", hash), ("key", key)].map { "\(ObjectStore.metadataPrefix)\($0): \($1)" }
    }
}

/// An object as a store gave it.
package struct StoredObject: Sendable {
    package let bytes: [UInt8]
    package let etag: String?
    /// Nil for one that somebody else wrote.
    package let description: ObjectDescription?
    /// For how many seconds it has been there, by the store's clock; nil if the store does not tell.
    package let age: Int64?

    init(_ answer: HTTPResponse) {
        bytes = answer.body
        etag = answer.head.etag
        description = ObjectDescription(answer.head)
        age = answer.head.age
    }
}
