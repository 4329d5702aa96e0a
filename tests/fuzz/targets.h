// The fuzz targets. Each reads bytes as a file of the user; a bug that they trigger ends the program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trnplan::fuzz {

void bert_script_target(const std::uint8_t* data, std::size_t size);
void catalog_file_target(const std::uint8_t* data, std::size_t size);
void cluster_target(const std::uint8_t* data, std::size_t size);
void cluster_jobs_target(const std::uint8_t* data, std::size_t size);
void config_target(const std::uint8_t* data, std::size_t size);
void detect_target(const std::uint8_t* data, std::size_t size);
void evidence_target(const std::uint8_t* data, std::size_t size);
void foreign_target(const std::uint8_t* data, std::size_t size);
void grid_target(const std::uint8_t* data, std::size_t size);
void instance_target(const std::uint8_t* data, std::size_t size);
void job_target(const std::uint8_t* data, std::size_t size);
void launch_json_target(const std::uint8_t* data, std::size_t size);
void layout_table_target(const std::uint8_t* data, std::size_t size);
void measured_csv_target(const std::uint8_t* data, std::size_t size);
void megatron_target(const std::uint8_t* data, std::size_t size);
void nccom_test_target(const std::uint8_t* data, std::size_t size);
void nemo_recipe_target(const std::uint8_t* data, std::size_t size);
void nemo_script_target(const std::uint8_t* data, std::size_t size);
void neuron_ls_target(const std::uint8_t* data, std::size_t size);
void node_tests_target(const std::uint8_t* data, std::size_t size);
void nxd_script_target(const std::uint8_t* data, std::size_t size);
void nxdt_target(const std::uint8_t* data, std::size_t size);
void offerings_target(const std::uint8_t* data, std::size_t size);
void parquet_target(const std::uint8_t* data, std::size_t size);
void plan_file_target(const std::uint8_t* data, std::size_t size);
void price_list_target(const std::uint8_t* data, std::size_t size);
void profile_target(const std::uint8_t* data, std::size_t size);
void reliability_target(const std::uint8_t* data, std::size_t size);
void folder_settings_target(const std::uint8_t* data, std::size_t size);
void scenario_target(const std::uint8_t* data, std::size_t size);
void strategy_text_target(const std::uint8_t* data, std::size_t size);
void titan_module_target(const std::uint8_t* data, std::size_t size);
void titan_toml_target(const std::uint8_t* data, std::size_t size);
void watch_target(const std::uint8_t* data, std::size_t size);

struct Target {
  const char* name;
  void (*run)(const std::uint8_t* data, std::size_t size);
};

inline constexpr Target kTargets[] = {
    {"bert_script", bert_script_target},
    {"catalog_file", catalog_file_target},
    {"cluster", cluster_target},
    {"cluster_jobs", cluster_jobs_target},
    {"config", config_target},
    {"detect", detect_target},
    {"evidence", evidence_target},
    {"foreign", foreign_target},
    {"grid", grid_target},
    {"instance", instance_target},
    {"job", job_target},
    {"launch_json", launch_json_target},
    {"layout_table", layout_table_target},
    {"measured_csv", measured_csv_target},
    {"megatron", megatron_target},
    {"nccom_test", nccom_test_target},
    {"nemo_recipe", nemo_recipe_target},
    {"nemo_script", nemo_script_target},
    {"neuron_ls", neuron_ls_target},
    {"node_tests", node_tests_target},
    {"nxd_script", nxd_script_target},
    {"nxdt", nxdt_target},
    {"offerings", offerings_target},
    {"parquet", parquet_target},
    {"plan_file", plan_file_target},
    {"price_list", price_list_target},
    {"profile", profile_target},
    {"reliability", reliability_target},
    {"folder_settings", folder_settings_target},
    {"scenario", scenario_target},
    {"strategy_text", strategy_text_target},
    {"titan_module", titan_module_target},
    {"titan_toml", titan_toml_target},
    {"watch", watch_target},
};

}  // namespace trnplan::fuzz
