import CCurl

/// One libcurl easy handle, used again and again, so that its buffers are made once.
///
/// ## Concurrency
///
/// Belongs to the loop's thread from first to last.
@safe final class CurlEasy {
    /// A handle as libcurl names it.
    struct ID: Hashable {
        private let address: UInt

        init(_ pointer: UnsafeMutableRawPointer) { address = UInt(bitPattern: pointer) }
    }

    let pointer: UnsafeMutableRawPointer
    var id: ID { unsafe ID(pointer) }
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var addressList: UnsafeMutablePointer<curl_slist>?
    /// Whether libcurl has taken every option since the last reset without which the request would not be what was asked for,
    /// or not be safe.
    private(set) var isSafe = true

    init?() {
        guard let pointer = unsafe curl_easy_init() else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe curl_easy_cleanup(pointer)
        unsafe curl_slist_free_all(headerList)
        unsafe curl_slist_free_all(addressList)
    }

    /// Forgets every option; connections and names already resolved belong to the multi handle and stay.
    func reset() {
        unsafe curl_easy_reset(pointer)
        unsafe curl_slist_free_all(headerList)
        unsafe curl_slist_free_all(addressList)
        unsafe headerList = nil
        unsafe addressList = nil
        isSafe = true
    }

    /// Sets an option of taste that takes a number; one that libcurl refuses stays as it was.
    ///
    /// libcurl 7.88.1 refuses even what it knows: `CURLOPT_BUFFERSIZE` while the handle has a buffer, which a transfer on a
    /// shared connection can leave behind.
    func prefer(_ option: CURLoption, _ value: Int) {
        _ = unsafe rankfs_curl_easy_setopt_long(pointer, option, value)
    }

    /// Sets an option that takes a number and that the request must not go without.
    func set(_ option: CURLoption, _ value: Int) {
        note(unsafe rankfs_curl_easy_setopt_long(pointer, option, value))
    }

    /// Sets an option that takes text, which libcurl copies, and that the request must not go without.
    func set(_ option: CURLoption, _ value: String) {
        note(unsafe rankfs_curl_easy_setopt_string(pointer, option, value))
    }

    /// Tells how many bytes a PUT sends.
    func setLength(ofUpload length: Int64) {
        note(unsafe rankfs_curl_easy_setopt_offset(pointer, CURLOPT_INFILESIZE_LARGE, curl_off_t(length)))
    }

    /// Sets the header lines.
    func setHeaders(_ lines: [String]) {
        unsafe headerList = list(lines)
        note(unsafe rankfs_curl_easy_setopt_list(pointer, CURLOPT_HTTPHEADER, headerList))
    }

    /// Tells the addresses of names, as lines of CURLOPT_RESOLVE(3), so that libcurl asks no resolver.
    func setAddresses(_ lines: [String]) {
        unsafe addressList = list(lines)
        note(unsafe rankfs_curl_easy_setopt_list(pointer, CURLOPT_RESOLVE, addressList))
    }

    private func list(_ lines: [String]) -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = unsafe curl_slist_append(list, line) else {
                note(CURLE_OUT_OF_MEMORY)
                break
            }
            unsafe list = unsafe longer
        }
        return unsafe list
    }

    /// Takes in the result of an option that the request must not go without.
    func note(_ code: CURLcode) {
        if code != CURLE_OK { isSafe = false }
    }

    /// A number that libcurl knows of the last transfer.
    func number(_ info: CURLINFO) -> Int {
        var value = 0
        _ = unsafe rankfs_curl_easy_getinfo_long(pointer, info, &value)
        return value
    }

    /// The family of the address that answers; nil without one.
    var family: AddressFamily? {
        let address = unsafe String(cString: rankfs_curl_easy_getinfo_address(pointer))
        return address.isEmpty ? nil : AddressFamily(of: address)
    }

    /// Bytes of the body that came over the wire.
    var transferred: Int64 {
        var value: curl_off_t = 0
        _ = unsafe rankfs_curl_easy_getinfo_offset(pointer, CURLINFO_SIZE_DOWNLOAD_T, &value)
        return Int64(value)
    }
}
