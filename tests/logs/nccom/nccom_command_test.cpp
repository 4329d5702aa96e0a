#include "logs/nccom/nccom_command.h"

#include "tests/catch.h"

using namespace trnplan::logs;

TEST_CASE("commands", "[calibrate]") {
  CHECK_FALSE(parse_nccom_command("nccom-test allr"));
  CHECK_FALSE(parse_nccom_command("nccom-test -r 2"));
  CHECK_FALSE(parse_nccom_command("see nccom-test.log -r 2 allr"));
  CHECK_FALSE(parse_nccom_command(""));
  const auto c = parse_nccom_command(
      "A=1 nccom-test --nworkers 64 allg --hosts 10.0.0.1 10.0.0.2 --report-to-json-file allr | tee "
      "nccom-test");
  REQUIRE(c);
  CHECK(c->op == "all_gather");
  CHECK(c->ranks == 64);
  CHECK_FALSE(c->nodes);
  CHECK(c->text == "nccom-test --nworkers 64 allg --hosts 10.0.0.1 10.0.0.2 --report-to-json-file allr");
  CHECK_FALSE(parse_nccom_command("nccom-test -r 0 allr")->ranks);
  CHECK_FALSE(parse_nccom_command("nccom-test -r 99999999999 allr")->ranks);
  CHECK_FALSE(parse_nccom_command("nccom-test -r $RANKS -N $NODES allr")->nodes);
  CHECK(parse_nccom_command("nccom-test -r 8 --custom-replica-groups allr allg")->op == "all_gather");
  CHECK(parse_nccom_command("nccom-test -r 8 --custom-replica-groups g.json allg")->several_groups);
  CHECK(parse_nccom_command("nccom-test -r 8 sendrecv")->op == "send_recv");
}
