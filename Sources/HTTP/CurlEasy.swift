import CCurl

/// One libcurl easy handle, used again and again, so that its buffers are made once.
///
/// ## Concurrency
///
/// Belongs to the loop's thread from first to last.
@safe final class CurlEasy {
    let pointer: UnsafeMutableRawPointer
    private var headerList: UnsafeMutablePointer<curl_slist>?

    init?() {
        guard let pointer = unsafe curl_easy_init() else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe curl_easy_cleanup(pointer)
        unsafe curl_slist_free_all(headerList)
    }

    /// Forgets every option; connections and names already resolved belong to the multi handle and stay.
    func reset() {
        unsafe curl_easy_reset(pointer)
        unsafe curl_slist_free_all(headerList)
        unsafe headerList = nil
    }

    /// Sets an option that takes a number; libcurl refuses only what it does not know.
    func set(_ option: CURLoption, _ value: Int) {
        let code = unsafe rankfs_curl_easy_setopt_long(pointer, option, value)
        precondition(code == CURLE_OK, "libcurl lacks an option that it must have")
    }

    /// Sets an option that takes text, which libcurl copies.
    func set(_ option: CURLoption, _ value: String) {
        let code = unsafe rankfs_curl_easy_setopt_string(pointer, option, value)
        precondition(code == CURLE_OK, "libcurl lacks an option that it must have")
    }

    /// Sets the header lines.
    func setHeaders(_ lines: [String]) {
        for line in lines {
            guard let longer = unsafe curl_slist_append(headerList, line) else { return }
            unsafe headerList = unsafe longer
        }
        _ = unsafe rankfs_curl_easy_setopt_list(pointer, CURLOPT_HTTPHEADER, headerList)
    }

    /// Directs the callbacks to a flight, which must outlive the handle's stay in the multi handle.
    func setCallbacks(_ flight: Flight) {
        let context = unsafe Unmanaged.passUnretained(flight).toOpaque()
        _ = unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_HEADERDATA, context)
        _ = unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_WRITEDATA, context)
        _ = unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_OPENSOCKETDATA, context)
        _ = unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_PRIVATE, context)
        _ = unsafe rankfs_curl_easy_setopt_write(pointer, CURLOPT_HEADERFUNCTION, curlHeader)
        _ = unsafe rankfs_curl_easy_setopt_write(pointer, CURLOPT_WRITEFUNCTION, curlBody)
        _ = unsafe rankfs_curl_easy_setopt_open(pointer, CURLOPT_OPENSOCKETFUNCTION, curlOpenSocket)
    }

    /// A number that libcurl knows of the last transfer.
    func number(_ info: CURLINFO) -> Int {
        var value = 0
        _ = unsafe rankfs_curl_easy_getinfo_long(pointer, info, &value)
        return value
    }

    /// Bytes of the body that came over the wire.
    var transferred: Int64 {
        var value: curl_off_t = 0
        _ = unsafe rankfs_curl_easy_getinfo_offset(pointer, CURLINFO_SIZE_DOWNLOAD_T, &value)
        return Int64(value)
    }
}
