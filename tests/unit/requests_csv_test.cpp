#include "sim/report/requests_csv.h"

#include <doctest/doctest.h>

#include "calibration/csv.h"

using namespace plateau;
using namespace std::chrono_literals;

TEST_CASE("a row per request, exact to the nanosecond, in a table that reads back") {
  RequestsCsv csv;
  RequestRecord record;
  record.id = 7;
  record.sent = 1'500'000'001ns;
  record.first_token = 1'750'000'001ns;
  record.finished = 2'750'000'001ns;
  record.input_tokens = 128;
  record.output_tokens = 5;
  record.retractions = 2;
  record.replica = 3;
  csv.on_request_finished(record);
  record.output_tokens = 1;
  csv.on_request_finished(record);
  CHECK(csv.text() ==
        "id,sent_s,first_token_s,finished_s,input_tokens,output_tokens,retractions,ttft_ms,tpot_ms,"
        "replica\n"
        "7,1.500000001,1.750000001,2.750000001,128,5,2,250.000000,250,3\n"
        "7,1.500000001,1.750000001,2.750000001,128,1,2,250.000000,,3\n");
  const CsvTable table = CsvTable::parse(csv.text(), "requests.csv");
  CHECK(table.number(0, table.column("tpot_ms")) == 250);
  CHECK_FALSE(table.optional_number(1, table.column("tpot_ms")));
}
