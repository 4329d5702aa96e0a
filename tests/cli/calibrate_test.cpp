// calibrate: tables, logs and kernels, and the profiles that it writes.
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"
#include "text/sha256.h"

using namespace trnplan;
using cli::Session;

namespace {

/// An nccom-test table as a file.
void nccom(Session& cli, const std::string& file, const std::string& command,
           const std::vector<std::string>& rows) {
  std::string text = command.empty() ? "" : command + "\n";
  text += "size(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n";
  for (const std::string& row : rows) text += row + "\n";
  cli.write(file, text);
}

/// r8.txt, a table of two rows, bare.txt, the same without its command, and names of fixtures.
void set_up(Session& cli) {
  nccom(cli, "r8.txt", "nccom-test -r 8 allg",
        {"1024 256 fp32 70.0 0.01 0.01", "65536 16384 fp32 75.0 0.87 0.76"});
  nccom(cli, "bare.txt", "", {"1024 256 fp32 70.0 0.01 0.01", "65536 16384 fp32 75.0 0.87 0.76"});
  cli.set("logs", cli.get("source") + "/tests/calibrate/fixtures/logs");
  cli.set("seventy", cli.get("source") + "/examples/llama3-70b-16-nodes/job.yaml");
  cli.set("kernels", cli.get("source") + "/tests/calibrate/fixtures/kernels");
  cli.set("gemm", cli.get("kernels") + "/gemm.json");
  cli.set("shape", "matmul,m=4096,k=4096,n=4096,dtype=bf16");
}

}  // namespace

TEST_CASE("tables of nccom-test", "[cli]") {
  Session cli;
  set_up(cli);
  cli.set("tables", cli.get("source") + "/tests/calibrate/fixtures/nccom");
  cli.set("published", cli.get("source") + "/catalog/measured-collectives.csv");
  // nccom FILE COMMAND ROW...: an nccom-test table as a file of $work
  // Points that cannot be predicted are the user's, with their line, the reason and a fix.
  nccom(cli, "v.txt", "nccom-test -r 4 allgv", {"1024 256 fp32 70.0 0.01 0.01"});
  nccom(cli, "r33.txt", "nccom-test -r 33 -N 1 allr", {"1024 256 fp32 70.0 0.01 0.02"});
  nccom(cli, "n2.txt", "nccom-test -r 4 -N 2 allr", {"1024 256 fp32 170.0 0.01 0.01"});
  nccom(cli, "n3.txt", "nccom-test -r 64 -N 3 allr", {"1024 256 fp32 170.0 0.01 0.01"});
  cli.refuse(R"(v\.txt:3:1: all_gather_v is not modelled)", "calibrate $work/v.txt");
  cli.refuse(R"(r33\.txt:3:1: 33 ranks do not fit on 1 node of trn1\.32xlarge, which has 32 cores)",
             "calibrate $work/r33.txt");
  cli.refuse(R"(n2\.txt:3:1: it ran on 2 nodes, and trn1\.2xlarge has no EFA device)",
             "calibrate $work/n2.txt --instance trn1.2xlarge");
  cli.refuse(R"(n3\.txt:3:1: 64 ranks do not sit equally on 3 nodes)", "calibrate $work/n3.txt");
  nccom(cli, "r8.txt", "nccom-test -r 8 allg",
        {"1024 256 fp32 70.0 0.01 0.01", "65536 16384 fp32 75.0 0.87 0.76"});
  cli.expect(0, R"(^trnplan: .*v\.txt:3:1: left out: all_gather_v is not modelled)",
             "calibrate $work/v.txt $work/r33.txt $work/r8.txt");
  cli.says("left out: 33 ranks do not fit");
  cli.says_no(R"(\?)");
  cli.prints(R"(^r8\.txt: 2 of 2 rows)");
  cli.prints(R"(^v\.txt: 0 of 1 rows)");
  cli.prints("^2 points: ");
  // Who talks to whom.
  cli.refuse(R"(permute-r8\.txt:[0-9]+:[0-9]+: --custom-src-target-pairs changes who)",
             "calibrate $tables/permute-r8.txt");
  nccom(cli, "groups.txt", "nccom-test -r 8 --data-parallel-dimension 2 allr",
        {"1024 256 fp32 70.0 0.01 0.02"});
  cli.expect(0, R"(groups\.txt:2:1: left out: --data-parallel-dimension changes)",
             "calibrate $work/groups.txt $work/r8.txt");
  // Tables without a command.
  nccom(cli, "bare.txt", "", {"1024 256 fp32 70.0 0.01 0.01", "65536 16384 fp32 75.0 0.87 0.76"});
  cli.refuse(R"(bare\.txt:1:1: the operation of this table is not stated)", "calibrate $work/bare.txt");
  cli.refuse("fix: .*--op, --ranks and --nodes", "calibrate $work/bare.txt");
  cli.refuse(R"(bare\.txt:1:1: the number of ranks of this table is not stated)",
             "calibrate $work/bare.txt --op allg");
  cli.expect(0, "^all_gather +8 +1024", "calibrate $work/bare.txt --op allg --ranks 8");
  cli.write("report.json", "{\"results\": [{\"size(B)\": 1024, \"time:avg(us)\": 70.0}]}\n");
  cli.expect(0, "^reduce_scatter +64 +1024", "calibrate $work/report.json --op redsct --ranks 64 --nodes 2");
  cli.expect(0, "its own command is used, not --op", "calibrate $work/r8.txt --ranks 16");
  cli.expect(0, "--build chooses among the points of a CSV", "calibrate $work/r8.txt --build 2023-04");
  cli.refuse("files: there is nothing to read", "calibrate");
  std::filesystem::create_directory(cli.work("no-plan"));
  cli.expect(0, "^Best ", "plan $example --top 1 --out $work/ran");
  cli.refuse(R"(--run: it has no train-\*\.out)", "calibrate --run $work/ran");
  cli.refuse(R"(no-plan/plan\.json)", "calibrate --run $work/no-plan");
  cli.refuse(R"(--op: "allred" is not an operation)", "calibrate $work/bare.txt --op allred --ranks 8");
  cli.refuse(R"(--build: no point is of build "2022")", "calibrate $published --build 2022");
  cli.refuse("build: its points come from several builds", "calibrate $published");
  cli.refuse_usage("files: is empty", "calibrate ''");
  // A table of trnplan's own is what its profile says.
  for (const std::string table : {"allr --ranks 64 --nodes 2", "allg --ranks 8 --nodes 1"}) {
    cli.run("collective " + table + " -b 1K -e 1G -f 4");
    cli.write("own.txt", cli.last.out);
    cli.expect(0, R"(: median error 0\.0 %, worst [+-]0\.[01] %)",
               "calibrate $work/own.txt --op " + table + " --no-fit --profile trn1");
  }
  cli.run("collective allr -b 1K -e 1M --in-graph");
  cli.write("inside.txt", cli.last.out);
  cli.refuse(R"(inside\.txt: a table of trnplan collective --in-graph)",
             "calibrate $work/inside.txt --op allr --ranks 32");
  // The same point twice; several builds.
  cli.write("again.txt", cli.read(cli.work("r8.txt")) + "\n");
  cli.expect(0, "^trnplan: 2 points given twice are used once", "calibrate $work/r8.txt $work/again.txt");
  cli.prints("^2 points: ");
  cli.change("$work/r8.txt", "old.txt",
             {{"time:avg\\(us\\)", "time(us)"}, {" 70\\.0 ", " 71.0 "}, {" 75\\.0 ", " 76.0 "}});
  cli.expect(0, R"(may come from different builds \(.*heading time\(us\))",
             "calibrate $work/r8.txt $work/old.txt");
  // The profile that is written.
  cli.refuse(R"(--out: ".*mine" does not end in \.json)", "calibrate $work/r8.txt --out $work/mine");
  cli.refuse_usage("--out: is empty", "calibrate $work/r8.txt --out ''");
  cli.refuse("--force: there is no --out", "calibrate $work/r8.txt --force");
  cli.refuse("--out: --no-fit fits nothing", "calibrate $work/r8.txt --no-fit --out mine.json");
  cli.refuse(R"(missing/mine\.json: its folder does not exist)",
             "calibrate $work/r8.txt --out missing/mine.json");
  std::filesystem::create_directory(cli.work("folder.json"));
  cli.refuse(R"(folder\.json: is a folder)", "calibrate $work/r8.txt --out $work/folder.json");
  cli.refuse("fix: choose another file", "calibrate $work/r8.txt --out $work/folder.json");
  cli.expect(0, R"(^trnplan: wrote .*mine\.json$)",
             "calibrate $work/r8.txt $work/v.txt --out $work/mine.json");
  cli.refuse(R"(mine\.json: the file exists already)", "calibrate $work/r8.txt --out $work/mine.json");
  cli.expect(0, R"(^trnplan: wrote .*yours\.json$)",
             "calibrate $work/r8.txt --profile $work/mine.json --out $work/yours.json");
  cli.holds("$work/yours.json", R"("base": "trn1-datasheet")");
  cli.holds("$work/yours.json", R"("instance": "trn1.32xlarge")");
  cli.holds("$work/yours.json", R"("note": ".*for collectives, not for planning)");
  cli.lacks("$work/mine.json", R"(v\.txt)");
  cli.holds("$work/mine.json", R"("source": "at prior: not moved by 2 nccom-test points of r8.txt)");
  std::filesystem::rename(cli.work("mine.json"),
                          cli.work("elsewhere.json"));  // the second must not need the first
  cli.expect(0, "^  profile +yours$", "collective allr -b 1M --profile $work/yours.json");
  cli.change("$work/yours.json", "lost.json", {{"\"trn1-datasheet\"", "\"trn1-datashet\""}});
  cli.refuse(R"(lost\.json:3:[0-9]+: base: unknown profile "trn1-datashet")",
             "collective allr -b 1M --profile $work/lost.json");
  cli.change("$work/yours.json", "yours.txt", {});
  cli.refuse(R"(yours\.txt: --profile: .*does not end in \.json)",
             "collective allr -b 1M --profile $work/yours.txt");
  cli.refuse("here: --profile: is a folder", "collective allr -b 1M --profile $work/here");
  cli.change("$work/yours.json", "trn2.json", {{"\"trn1.32xlarge\"", "\"trn2.48xlarge\""}});
  cli.expect(0, R"(trn1\.32xlarge timed with the parameters of yours \(trn2\.48xlarge\))",
             "collective allr -b 1M --profile $work/trn2.json");
  cli.expect(0, R"(trn1\.32xlarge timed with the parameters of yours \(trn2\.48xlarge\))",
             "plan $example --profile $work/trn2.json");
  // A fit that explains nothing is not written.
  nccom(cli, "wild.txt", "nccom-test -r 8 allg",
        {"1024 256 fp32 9000.0 0.00 0.00", "65536 16384 fp32 2.0 32.77 28.67",
         "1048576 262144 fp32 800000.0 0.00 0.00", "16777216 4194304 fp32 90.0 186.41 163.11"});
  cli.expect(0, R"(^the fit does not explain these rows \(median error )", "calibrate $work/wild.txt");
  cli.prints("reduced chi-square");
  cli.expect(3, R"(wild\.json is not written: )", "calibrate $work/wild.txt --out $work/wild.json");
  CHECK_FALSE(std::filesystem::exists(cli.work("wild.json")));
  cli.expect(0, "^trnplan: wrote ", "calibrate $work/wild.txt --out $work/wild.json --force");
  cli.expect(0, "^no fit: profile trn1-datasheet as it is$", "calibrate $work/r8.txt --no-fit");
  cli.expect(0, R"("explains": true)", "calibrate $work/r8.txt --format json");
}

TEST_CASE("training logs", "[cli]") {
  Session cli;
  set_up(cli);
  // Training logs: what a file is, is found by its content.
  cli.set("logs", cli.get("source") + "/tests/calibrate/fixtures/logs");
  cli.set("seventy", cli.get("source") + "/examples/llama3-70b-16-nodes/job.yaml");
  cli.expect(0, R"(^  step 315 s \+- 0\.41, 1 step, lines 1-4: progress bar; .*; nxdt; global batch 1024$)",
             "calibrate $logs/nxdt-llama3-70b.txt");
  cli.expect(0, R"(job\.yaml: 2 of 2 step samples are of it)",
             "calibrate $logs/nxdt-llama3-70b.txt --job $seventy --strategy tp=32,pp=8");
  cli.expect(0, "your run ",
             "calibrate $logs/nxd-llama3-70b.txt --job llama3-70b --nodes 16 --strategy tp=32,pp=8");
  cli.expect(0,
             R"(^trnplan: .*bert-end-of-epoch\.txt:1:1: left out: global batch 16384 in this log, 1024 in)",
             "calibrate $logs/bert-end-of-epoch.txt --job $seventy");
  cli.prints(": 0 of 2 step samples are of it");
  cli.expect(0, R"("wall_seconds": 254\.20)",
             "calibrate $logs/nxd-llama3-70b.txt --job $seventy --format json");
  cli.expect(0, R"("framework": "nxdt")",
             "calibrate $logs/nxdt-llama3-70b.txt --config "
             "$source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml --format json");
  cli.expect(0, R"(^  memory of core 0 0\.095 GiB, line 1: neuron-monitor)",
             "calibrate $logs/neuron-monitor-trn1.2xlarge.json");
  cli.expect(0, R"("key": "XCG815")", "calibrate $logs/compiler.txt --format json");
  cli.expect(0, R"(^trnplan: .*compiler\.txt:6:1: XCG815: no peak usage)", "calibrate $logs/compiler.txt");
  cli.expect(0,
             R"(^  all_gather of 8388608 bytes, 8 ranks, 38\.0 us, median 40\.0, 3 times, inside a graph$)",
             "calibrate $logs/cc-op.csv");
  // A log and a table together: the table is fitted, both are listed.
  cli.write("slurm.out", cli.read("$logs/nxd-llama3-70b.txt") + cli.read("$work/r8.txt"));
  cli.expect(0, R"(^slurm\.out: 5 NxD lines, 1 nccom-test table$)", "calibrate $work/slurm.out --no-fit");
  cli.prints("^slurm.out: 2 of 2 rows of 1 nccom-test table$");
  cli.prints("^  step 243.84 s");
  cli.expect(0, R"("pieces": 5)", "calibrate $work/slurm.out --no-fit --format json");
  cli.prints(R"("explains": )");
  // An unusable table is no fault together with a log, and is one alone.
  cli.write("bare.out", cli.read("$logs/nxd-llama3-70b.txt") + cli.read("$work/bare.txt"));
  cli.expect(0, R"(^trnplan: .*bare\.out:6:1: left out: the operation of this table is not stated)",
             "calibrate $work/bare.out");
  cli.refuse(R"(README\.md: nothing in it is recognised)",
             "calibrate $source/README.md $logs/nxd-llama3-70b.txt");
  cli.write("packed", "\037\213\010");
  cli.refuse("packed: its gzip data are cut off", "calibrate $work/packed");
  cli.write("huge", "");
  std::filesystem::resize_file(cli.work("huge"), 300u << 20);
  cli.refuse("huge: a binary file of an unknown kind", "calibrate $work/huge");
  std::filesystem::remove(cli.work("huge"));
  cli.write("nothing", "");
  cli.refuse("nothing: the file is empty", "calibrate $work/nothing");
  // What a log taught stays: a second log adds to it, and the same one does not count twice.
  const std::string learn = "calibrate $logs/nxd-llama3-70b.txt --job $seventy --strategy tp=32,pp=8 ";
  cli.expect(0, "the log is one of nxd, so .* is predicted as nxd trains it",
             learn + "--out $work/mine.json");
  cli.prints(R"(^your cluster: nxd on trn1\.32xlarge takes [0-9.]+ times as long as trn1 says)");
  cli.refuse("mine has already learnt this file", learn + "--profile $work/mine.json");
  std::string uneven;
  for (int i = 1; i <= 20; ++i)
    uneven += "step " + std::to_string(i) + " step_time " + (i % 2 == 0 ? "250.1" : "500.2") + "s loss 2.0\n";
  cli.write("uneven.txt", uneven);
  cli.expect(3, "uneven.txt:1:1: step: the steps have no common pace: a tenth takes at most 250.1 s",
             "calibrate $work/uneven.txt --job $seventy --strategy tp=32,pp=8 --out $work/uneven.json");
  cli.refuse("--out: no file has a point of nccom-test",
             "calibrate $logs/nxd-llama3-70b.txt --out mine.json");
  cli.refuse("--config: --job states what ran as well",
             "calibrate $logs/nxd-llama3-70b.txt --job $seventy --config x.yaml");
  cli.refuse("--strategy: there is no --job", "calibrate $logs/nxd-llama3-70b.txt --strategy tp=8");
}

TEST_CASE("kernels", "[cli]") {
  Session cli;
  set_up(cli);
  std::istringstream published(cli.read("$source/catalog/measured-runs.csv"));
  std::string heading, row;
  std::getline(published, heading);
  while (std::getline(published, row) && !row.starts_with("T175,")) continue;
  cli.write("runs.csv", heading + "\nNEW" + row.substr(4) + "\n");
  // Kernels, alone and together with other points.
  cli.set("kernels", cli.get("source") + "/tests/calibrate/fixtures/kernels");
  cli.set("gemm", cli.get("kernels") + "/gemm.json");
  cli.set("shape", "matmul,m=4096,k=4096,n=4096,dtype=bf16");
  cli.expect(0, "^ *matmul_efficiency .* weakly$",
             "calibrate $gemm --kernel $gemm=$shape --out $work/kernels.json");
  cli.says("^trnplan: the data contain no step");
  cli.prints("^1 kernel: median error ");
  cli.holds("$work/kernels.json", "\"sha256\": \"" + sha256(cli.read("$gemm")) + "\"");
  cli.holds("$work/kernels.json", "weakly: fitted to 0 steps, 0 nccom-test points and 1 kernel;");
  cli.holds("$work/kernels.json", R"("prior": "trn1-datasheet")");
  cli.expect(0, "90 %", "simulate $example --strategy tp=32 --profile $work/kernels.json");
  cli.expect(0, "^fitted to 0 steps of 0 programs and 2 nccom-test points, 1 kernel; ",
             "calibrate $gemm $work/r8.txt --kernel $gemm=$shape");
  cli.expect(0, R"("kernels": 1)", "calibrate $gemm $work/runs.csv --kernel $gemm=$shape --format json");
  cli.expect(0, "^no fit: profile trn1-datasheet as it is$",
             "calibrate $gemm --kernel $gemm=$shape --no-fit");
  cli.expect(0,
             R"(left out: K3: measured on trn2\.48xlarge, whose cores differ from those of trn1\.32xlarge)",
             "calibrate $kernels/kernels.csv");
  cli.expect(0, R"(^trnplan: .*kernels\.csv:5:10: kernel: left out: K4: quality C: shapes)",
             "calibrate $kernels/kernels.csv");
  for (const std::string id : {"X039", "X040", "X041", "X042", "X043"}) {
    cli.refuse(R"(measured-kernels\.csv:[0-9]+:[0-9]+: kernel: )" + id + ": quality C: ",
               "calibrate $source/catalog/measured-kernels.csv");
  }
  // Order and paths of files change nothing.
  cli.write("elsewhere/gemm.json", cli.read("$gemm"));
  cli.expect(0, "",
             "calibrate $kernels/kernels.csv $work/elsewhere/gemm.json --kernel "
             "$work/elsewhere/gemm.json=$shape --out $work/elsewhere/k.json");
  cli.expect(0, "",
             "calibrate $gemm $kernels/kernels.csv --kernel $gemm=matmul,dtype=bf16,n=4096,m=4096,k=4096 "
             "--out $work/k.json");
  CHECK(cli.read("$work/k.json") == cli.read("$work/elsewhere/k.json"));
  cli.refuse(R"(command line: --kernel: .*gemm\.json: "matmull" is not an operator)",
             "calibrate $gemm --kernel $gemm=matmull");
  cli.refuse("matmul needs k", "calibrate $gemm --kernel $gemm=matmul,m=1");
  cli.refuse("matmul needs n", "calibrate $gemm --kernel $gemm=matmul,m=1");
  cli.refuse(R"(gemm\.jso" is not among the files)", "calibrate $gemm --kernel ${kernels}/gemm.jso=$shape");
  cli.refuse("is not FILE=KERNEL", "calibrate $gemm --kernel $gemm");
  cli.refuse("is named twice", "calibrate $gemm --kernel $gemm=$shape --kernel $gemm=$shape");
  cli.refuse("the file has no device time", "calibrate $gemm $work/r8.txt --kernel $work/r8.txt=$shape");
  cli.refuse(R"(gemm\.json:1:1: kernel: 1902 us is less than the .* us that matmul,m=40960)",
             "calibrate $gemm --kernel $gemm=matmul,m=40960,k=4096,n=4096,dtype=bf16");
  cli.refuse("--no-fit: there are kernels together with",
             "calibrate $gemm $work/r8.txt --kernel $gemm=$shape --no-fit");
  cli.refuse_usage("--profile: is empty", "calibrate $gemm --profile ''");
  cli.refuse("--instance: kernels together with steps, nccom-test points",
             "calibrate $gemm --kernel $gemm=$shape --instance trn2.48xlarge --with-catalogue");
  cli.refuse("--instance: kernels together with steps, nccom-test points",
             "calibrate $gemm $work/r8.txt --kernel $gemm=$shape --instance trn1n.32xlarge");
  cli.refuse_usage("--kernel: is empty", "calibrate $gemm --kernel ''");
  cli.expect(3, "faster than a core.s share of the chip.s HBM",
             "calibrate $gemm --kernel $gemm=stream,bytes=1073741824 --out $work/stream.json");
  // A fitted profile starts anew, and says what it no longer holds.
  cli.expect(0, R"(gemm\.json, to which kernels was fitted, is not among the files)",
             "calibrate $kernels/kernels.csv --profile $work/kernels.json");
  // A device time far from the stated one is reported, and is written to a profile only if forced.
  cli.expect(3, R"(far\.json is not written because of that)",
             "calibrate $gemm --kernel $gemm=matmul,m=64,k=64,n=64,dtype=bf16 --out $work/far.json");
  CHECK_FALSE(std::filesystem::exists(cli.work("far.json")));
  // Steps of a log start from the machine's profile, unless --profile says otherwise.
  cli.expect(0, "predicted [0-9.]+ \\([0-9.]+ to [0-9.]+\\) by trn1;",
             "calibrate $logs/nxd-llama3-70b.txt --job $seventy --strategy tp=32,pp=8");
  cli.expect(
      0, "^fitted to 1 step of 1 program ",
      "calibrate $logs/nxd-llama3-70b.txt --job $seventy --strategy tp=32,pp=8 --profile trn1-datasheet");
  cli.says_no("catalogue");
  // Your run first; what other runs taught is a detail.
  const std::string own =
      "calibrate $logs/nxd-llama3-70b.txt --job $seventy --strategy tp=32,pp=8,recompute=CoreAttention";
  cli.expect(
      0,
      R"(^your run nxd-llama3-70b\.txt:[0-9]+: 254\.2 s by the throughput in the log \(243\.8 by the step time in the log\), predicted [0-9.]+ \([0-9.]+ to [0-9.]+\) by )",
      own);
  CHECK(cli.last.out.starts_with("your run "));
  cli.prints_no("matmul_efficiency|^left out");
  cli.expect(0, "matmul_efficiency", own + " --details");
  // An instance by its family.
}
