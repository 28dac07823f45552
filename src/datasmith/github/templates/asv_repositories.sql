-- Repositories with an asv configuration, from Google's public copy of GitHub (BigQuery, standard SQL).
-- One row a repository: repo_name ("owner/repo") and the paths of its configurations with ";" between them.
-- The table holds the default branch of open-source repositories, as of its last update.
SELECT
  repo_name,
  STRING_AGG(DISTINCT path, ';' ORDER BY path) AS asv_paths
FROM
  `bigquery-public-data.github_repos.files`
WHERE
  REGEXP_CONTAINS(path, r'(^|/)\.?asv[^/]*\.jsonc?$')
GROUP BY
  repo_name
ORDER BY
  repo_name
