// The style and scripts of the HTML pages: files of sim/report/assets, turned into strings when
// the simulator is built (sim/report/assets/embed.cmake).
#pragma once

namespace plateau::assets {

extern const char* const kShellHtml;
extern const char* const kPageCss;
extern const char* const kChartsJs;
extern const char* const kReportJs;
extern const char* const kReportRunJs;
extern const char* const kSweepJs;

}  // namespace plateau::assets
