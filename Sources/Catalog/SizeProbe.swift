import HTTP
import Rankings

/// Asks the image host how large a picture is: by HEAD, then by the first byte's range.
struct SizeProbe: Sendable {
    let client: HTTPClient
    let timeout: Duration

    /// A server that ignores the range sends the whole picture; this is where it is cut off, in bytes.
    private static let probeLimit: Int64 = 64 << 10

    /// The size in bytes.
    ///
    /// - Parameters:
    ///   - location: Where the picture is.
    ///   - urgency: Tells when somebody waits for it; nil if somebody does.
    /// - Returns: What the host tells, by whichever of the two.
    /// - Throws: `.sizeNotTold` if the host is well but tells none, else `.source`.
    func size(at location: PictureLocation, urgency: Urgency? = nil) async throws(CatalogError) -> Int64 {
        let deadline = ContinuousClock.now + timeout
        if let size = try await size(
            HTTPRequest(
                method: .head, url: location.url, headers: location.headers, transferClass: .metadata,
                deadline: deadline,
                bodyLimit: 0, purpose: .size),
            urgency, read: SizeAnswer.init(head:))
        {
            return size
        }
        if let size = try await size(
            HTTPRequest(
                url: location.url, headers: location.headers, range: (first: 0, last: 0), transferClass: .metadata,
                deadline: deadline, bodyLimit: Self.probeLimit, purpose: .size),
            urgency, read: SizeAnswer.init(firstByte:))
        {
            return size
        }
        throw .sizeNotTold
    }

    /// A HEAD, sent again as the client does where that may help, with the status of its last answer, 0 for none.
    func head(of location: PictureLocation) async -> (answer: SizeAnswer, status: Int) {
        do throws(HTTPError) {
            let response = try await client.send(
                HTTPRequest(
                    method: .head, url: location.url, headers: location.headers, transferClass: .metadata,
                    deadline: ContinuousClock.now + timeout, bodyLimit: 0, purpose: .size))
            return (SizeAnswer(head: response.head), response.head.status)
        } catch {
            return (.failed(SourceError(error)), 0)
        }
    }

    private func size(
        _ request: HTTPRequest, _ urgency: Urgency?, read: (HTTPHead) -> SizeAnswer
    ) async throws(CatalogError) -> Int64? {
        let response: HTTPResponse
        do throws(HTTPError) {
            response = try await client.send(request, urgency: urgency)
        } catch {
            if error == .tooLarge { return nil }
            throw .source(SourceError(error))
        }
        switch read(response.head) {
        case .size(let size): return size
        case .notTold: return nil
        case .failed(let error): throw .source(error)
        }
    }
}
