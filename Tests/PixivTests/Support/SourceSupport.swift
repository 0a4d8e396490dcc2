import HTTP
import Rankings

@testable import Pixiv

let deadline = ContinuousClock.now.advanced(by: .seconds(600))
let day = Day(ordinal: 19_113)  // 2022-05-01
let referer = "Referer: https://www.pixiv.net/"

/// A ranking with one good entry.
func ranking(
    mode: String = "daily", date: String = "20220501", page: Int = 1, next: String = "2", contents: String? = nil,
    total: Int = 500
) -> String {
    let entry = """
        {"title":"t","illust_id":"97973029","rank":1,"user_id":2,"user_name":"u","tags":[],"width":3,"height":4,
        "url":"https://i.pximg.net/c/240x480/img-master/img/2022/04/30/00/00/15/97973029_p0_master1200.jpg"}
        """
    return """
        {"contents":[\(contents ?? entry)],"mode":"\(mode)","page":\(page),"next":\(next),"date":"\(date)","rank_total":\(total)}
        """
}
