internal import Catalog
internal import ImageHost
internal import Rankings

/// Sizes of pictures, in the documents of the listings that show them.
struct TierSizes: SharedSizes {
    let documents: @Sendable (ListingKey) -> SharedDocument?

    func known(of pictures: [PictureID], in listing: ListingKey) async -> [Int64] {
        guard let document = documents(listing) else { return pictures.map { _ in 0 } }
        return await document.numbers(pictures.map { "size/\($0.key)" }).map { size in
            size.map { (1...PictureLimits.largest).contains($0) ? $0 : 0 } ?? 0
        }
    }

    func size(
        of picture: PictureID, in listing: ListingKey, ask: @Sendable () async -> PictureSize
    ) async -> PictureSize {
        guard let document = documents(listing) else { return await ask() }
        do throws(SourceError) {
            // A picture that is uploaded anew is another one.
            let size = try await document.value("size/\(picture.key)", isFresh: { _, _ in true }) {
                () async throws(SourceError) -> Int64 in
                switch await ask() {
                case .size(let size): return size
                case .notTold: throw .pastTheEnd
                case .failed(let error): throw error
                }
            }
            return (1...PictureLimits.largest).contains(size) ? .size(size) : await ask()
        } catch {
            return error == .pastTheEnd ? .notTold : .failed(error)
        }
    }
}
