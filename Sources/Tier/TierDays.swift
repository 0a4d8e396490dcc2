import Catalog
import Rankings
import Sourcing
import System

/// What machines share about the pictures of days: their sizes, and their previews in documents of some entries each.
///
/// Previews are believed as the image host's are: a preview may have any content, and only the process that decodes pictures looks at
/// it.
struct TierDays: SharedSizes, SharedPreviews {
    /// Returns the documents of a listing's audience; nil for a listing that is not shared.
    let documents: @Sendable (ListingKey) -> SharedDocuments?

    // MARK: - Sizes

    /// The size of a picture that the image host does not have.
    private static let absent: Int64 = 0

    func known(of pictures: [PictureID], in listing: ListingKey) async -> [Int64] {
        guard let document = documents(listing)?.sizes(of: listing) else { return pictures.map { _ in 0 } }
        return await document.numbers(pictures.map { "size/\($0.key)" }).map { size in
            size.map { (1...PictureLimits.largest).contains($0) ? $0 : 0 } ?? 0
        }
    }

    func offer(_ size: Int64, of picture: PictureID, in listing: ListingKey) async {
        await documents(listing)?.sizes(of: listing)?.offer("size/\(picture.key)", size)
    }

    func size(
        of picture: PictureID, in listing: ListingKey, ask: @Sendable () async -> PictureSize
    ) async -> PictureSize {
        guard let document = documents(listing)?.sizes(of: listing) else { return await ask() }
        do throws(Failure) {
            // A picture that is uploaded again has a new identifier; one that is not there may come back.
            let size = try await document.value("size/\(picture.key)", isFresh: { _, _ in true }) { size, asked, now in
                size != Self.absent || AnswerAge.holds(asked, AnswerAge.changing, now)
            } ask: { () async throws(Failure) -> Int64 in
                switch await ask() {
                case .size(let size): return size
                case .notTold: throw .pastTheEnd
                case .failed(.notFound): return Self.absent
                case .failed(let error): throw error
                }
            }
            if size == Self.absent { return .failed(.notFound) }
            return (1...PictureLimits.largest).contains(size) ? .size(size) : await ask()
        } catch {
            return error == .pastTheEnd ? .notTold : .failed(error)
        }
    }

    // MARK: - Previews

    /// The works of a document of first pages: so many previews have one or two megabytes.
    static let together = 50
    /// The works and pages of a document of their further pages, of which a mount shows some or none, and the number of the first
    /// such document.
    static let further = (together: 5, pages: 25, first: 100_000)
    /// More blocks of pages than a work has.
    private static let mostBlocks = 16

    func preview(
        of picture: PictureID, rank: Int, in listing: ListingKey, isWrong: Bool,
        ask: @Sendable () async -> ImageHost.Preview
    ) async -> ImageHost.Preview {
        let number = Self.number(rank: rank, page: picture.page)
        guard let document = documents(listing)?.previews(of: listing, number) else { return await ask() }
        let name = Self.name(of: picture)
        if isWrong {
            let found = await ask()
            if case .bytes(let bytes) = found { await document.offer(name, PreviewText(bytes: bytes)) }
            return found
        }
        do throws(Failure) {
            // A picture that is uploaded again has a new identifier.
            let found = try await document.value(name, isFresh: { _, _ in true }) { () async throws(Failure) in
                switch await ask() {
                case .bytes(let bytes): return PreviewText(bytes: bytes)
                case .useless: throw .notFound
                case .failed: throw .cancelled
                }
            }
            return .bytes(found.bytes)
        } catch { return error == .notFound ? .useless : .failed }
    }

    /// The number of a preview's document, which does not depend on what else a mount shows.
    private static func number(rank: Int, page: Int) -> Int {
        let works = max(rank - 1, 0)
        let block = min(page / further.pages, mostBlocks - 1)
        return page == 0 ? works / together : further.first + works / further.together * mostBlocks + block
    }

    /// The name of a preview in its document, the same whatever size of the picture a mount shows.
    static func name(of picture: PictureID) -> String {
        let preview = PictureID(
            work: picture.work, page: picture.page, rendition: .small, uploaded: picture.uploaded)
        return "preview/\(preview.key)"
    }
}

/// A preview as a string in base64.
private struct PreviewText: JSONCoded {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    init?(coded json: JSON) {
        guard let bytes = String(coded: json).flatMap(Base64.bytes), !bytes.isEmpty,
            bytes.count <= ImageHost.longestPreview
        else { return nil }
        self.bytes = bytes
    }

    var coded: JSON { .string(Base64.text(bytes)) }
}
